/* With casa_guard.cc the only C++ in the tree. Thin: each function calls casacore under the guard (casa_guard.h).
 * What a MeasurementSet must look like is decided by ms.c and ms_write.c. */
#include <casacore/casa/Logging/LogFilter.h>
#include <casacore/casa/Logging/LogSink.h>
#include <casacore/casa/System/Aipsrc.h>
#include <casacore/measures/Measures/MDirection.h>
#include <casacore/measures/TableMeasures/ArrayMeasColumn.h>
#include <casacore/ms/MeasurementSets.h>
#include <casacore/tables/DataMan.h>
#include <casacore/tables/Tables.h>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <unistd.h>
#include <vector>

extern "C" {
#include "common/option.h"
#include "io/ms.h"
}
#include "casa.h"
#include "casa_guard.h"

using namespace casacore;
using namespace casa_guard;

struct loom_casa {
    Table table;
    std::string name;
    bool is_new = false; /* made by this process, and nobody's while it is not whole */
};

struct loom_casa_ms {
    MeasurementSet *ms;
    std::string path;
    Int64 rows;
    IPosition data_shape; /* of a cell */
    double interval;
};

namespace {

/* casacore reads ~/.casarc when it is first used, and throws where there is no HOME, as in a service. There it does so
 * now, while the program is loaded and has one thread, in a home without such a file; nobody else sees that home. */
const bool settings_are_read = [] {
    const char *home = getenv("HOME");
    if (home && *home) return true;
    bool was_there = home;
    setenv("HOME", "/", 1);
    try {
        String value;
        Aipsrc::find(value, "gridloom");
    } catch (const std::exception &) {
        /* It is told when a table is opened. */
    }
    was_there ? setenv("HOME", "", 1) : unsetenv("HOME");
    return true;
}();

std::string at(const loom_casa *t, const char *column) {
    return "cannot read column " + std::string(column) + " of " + t->name;
}

char *copy_text(const std::string &text) {
    char *copy = strdup(text.c_str());
    if (!copy) throw std::bad_alloc();
    return copy;
}

loom_dtype dtype_of(DataType type) {
    switch (type) {
    case TpBool: return LOOM_BOOL;
    case TpUChar: return LOOM_U8;
    case TpShort: return LOOM_I16;
    case TpUShort: return LOOM_U16;
    case TpInt: return LOOM_I32;
    case TpUInt: return LOOM_U32;
    case TpInt64: return LOOM_I64;
    case TpFloat: return LOOM_F32;
    case TpDouble: return LOOM_F64;
    case TpComplex: return LOOM_C64;
    case TpDComplex: return LOOM_C128;
    default: return LOOM_DTYPES;
    }
}

template <class T> void get_scalars(const Table &t, const char *column, Int64 first, Int64 count, T *to) {
    Vector<T> v(IPosition(1, count), to, SHARE);
    ScalarColumn<T>(t, column).getColumnRange(Slicer(IPosition(1, first), IPosition(1, count)), v);
}

template <class T> void get_cell(const Table &t, const char *column, Int64 row, void **to, int64_t *n) {
    TableColumn any(t, column);
    std::vector<T> values;
    if (any.columnDesc().isScalar()) {
        T value;
        any.getScalar(row, value);
        values.push_back(value);
    } else {
        Array<T> array = ArrayColumn<T>(t, column).get(row);
        values = array.tovector();
    }
    T *copy = static_cast<T *>(malloc(values.size() * sizeof(T) + 1));
    if (!copy) throw std::bad_alloc();
    std::copy(values.begin(), values.end(), copy);
    *to = copy;
    *n = static_cast<int64_t>(values.size());
}

IPosition position(int rank, const int64_t *shape) {
    IPosition p(static_cast<uInt>(rank));
    for (int i = 0; i < rank; i++) p[static_cast<size_t>(i)] = shape[i];
    return p;
}

bool cell_has_shape(const TableColumn &column, rownr_t row, const IPosition &shape) {
    return column.isDefined(row) && column.shape(row).isEqual(shape);
}

/* Cells of another shape are never read: their rows are named instead. */
void check_cells(const TableColumn &column, const IPosition &shape, const loom_run *runs, int64_t n_runs) {
    if (column.columnDesc().isFixedShape()) {
        if (column.shapeColumn().isEqual(shape)) return;
        throw unexpected("its cells have the shape " + column.shapeColumn().toString() + ", expected " +
                         shape.toString());
    }
    for (int64_t r = 0; r < n_runs; r++) {
        for (int64_t row = runs[r].row; row < runs[r].row + runs[r].count; row++) {
            rownr_t n = static_cast<rownr_t>(row);
            if (!column.isDefined(n)) throw unexpected("row " + std::to_string(row) + " has no value");
            if (!column.shape(n).isEqual(shape)) {
                throw unexpected("row " + std::to_string(row) + " has the shape " + column.shape(n).toString() +
                                 ", expected " + shape.toString());
            }
        }
    }
}

int64_t count_rows(const loom_run *runs, int64_t n_runs) {
    int64_t n = 0;
    for (int64_t r = 0; r < n_runs; r++) n += runs[r].count;
    return n;
}

template <class T>
void get_arrays(const Table &t, const char *name, const loom_run *runs, int64_t n_runs, const loom_casa_slice &slice,
                T *to) {
    ArrayColumn<T> column(t, name);
    IPosition shape = position(slice.rank, slice.shape), start(shape.size(), 0), length = shape;
    check_cells(column, shape, runs, n_runs);
    start[shape.size() - 1] = slice.from;
    length[shape.size() - 1] = slice.n;
    Slicer section(start, length);
    bool whole = length.isEqual(shape);
    Array<T> array(length.concatenate(IPosition(1, count_rows(runs, n_runs))), to, SHARE);
    if (n_runs == 1) {
        Slicer rows(IPosition(1, runs[0].row), IPosition(1, runs[0].count));
        whole ? column.getColumnRange(rows, array) : column.getColumnRange(rows, section, array);
        return;
    }
    Vector<rownr_t> triples(static_cast<size_t>(3 * n_runs));
    for (size_t r = 0; r < static_cast<size_t>(n_runs); r++) {
        triples[3 * r] = static_cast<rownr_t>(runs[r].row);
        triples[3 * r + 1] = static_cast<rownr_t>(runs[r].row + runs[r].count - 1);
        triples[3 * r + 2] = 1;
    }
    RefRows rows(triples, True);
    whole ? column.getColumnCells(rows, array) : column.getColumnCells(rows, section, array);
}

/* Stored in one precision, wanted in another. */
template <class Stored, class T>
void get_converted(const Table &t, const char *name, const loom_run *runs, int64_t n_runs, const loom_casa_slice &slice,
                   T *to) {
    int64_t per_row = slice.n * (slice.rank > 1 ? slice.shape[0] : 1);
    std::vector<Stored> stored(static_cast<size_t>(count_rows(runs, n_runs) * per_row));
    get_arrays<Stored>(t, name, runs, n_runs, slice, stored.data());
    for (size_t i = 0; i < stored.size(); i++) to[i] = T(stored[i]);
}

[[noreturn]] void wrong_type(const TableColumn &column, const char *expected) {
    throw unexpected("it holds " + ValType::getTypeStr(column.columnDesc().dataType()) + ", expected " + expected);
}

} // namespace

void loom_ms_quiet(void) {
    loom_status_free(guarded(LOOM_E_INTERNAL, "casacore's log",
                             [] { LogSink::globalSink().filter(LogFilter(LogMessage::SEVERE)); }));
}

loom_status *loom_casa_open(const char *path, loom_casa **table) {
    return guarded(LOOM_E_DATA, "cannot open the table " + std::string(path),
                   [&] { *table = new loom_casa{Table(path, TableLock(TableLock::NoLocking), Table::Old), path}; });
}

loom_status *loom_casa_subtable(const loom_casa *table, const char *keyword, loom_casa **subtable) {
    std::string what = "cannot open the table " + std::string(keyword) + " of " + table->name;
    return guarded(LOOM_E_DATA, what, [&] {
        if (!table->table.keywordSet().isDefined(keyword)) throw AipsError("the main table does not name it");
        *subtable = new loom_casa{table->table.keywordSet().asTable(keyword, TableLock(TableLock::NoLocking)),
                                  table->name + "/" + keyword};
    });
}

void loom_casa_close(loom_casa *table) {
    if (!table) return;
    std::lock_guard<std::mutex> lock(one_at_a_time);
    std::string what = "cannot close the table " + table->name, name = table->name;
    bool writes = table->table.isWritable();
    work now(what, writes ? LOOM_E_IO : LOOM_E_DATA, writes ? name.c_str() : nullptr, table->is_new);
    delete table;
}

int64_t loom_casa_rows(const loom_casa *table) {
    return static_cast<int64_t>(table->table.nrow());
}

const char *loom_casa_name(const loom_casa *table) {
    return table->name.c_str();
}

char *loom_casa_columns(const loom_casa *table, bool complex_only) {
    std::lock_guard<std::mutex> lock(one_at_a_time);
    std::string names;
    const TableDesc &desc = table->table.tableDesc();
    for (uInt i = 0; i < desc.ncolumn(); i++) {
        DataType type = desc[i].dataType();
        if (complex_only && !(desc[i].isArray() && (type == TpComplex || type == TpDComplex))) continue;
        names += (names.empty() ? "" : ", ") + desc[i].name();
    }
    return copy_text(names);
}

loom_casa_column loom_casa_describe(const loom_casa *table, const char *column) {
    std::lock_guard<std::mutex> lock(one_at_a_time);
    const TableDesc &desc = table->table.tableDesc();
    if (!desc.isColumn(column)) return {false, false, false, LOOM_DTYPES};
    const ColumnDesc &c = desc[column];
    return {true, c.isArray(), c.isFixedShape(), dtype_of(c.dataType())};
}

loom_status *loom_casa_scalars(const loom_casa *table, const char *column, loom_dtype dtype, int64_t first,
                               int64_t count, void *to) {
    return guarded(LOOM_E_DATA, at(table, column), [&] {
        const Table &t = table->table;
        TableColumn any(t, column);
        loom_dtype stored = any.columnDesc().isScalar() ? dtype_of(any.columnDesc().dataType()) : LOOM_DTYPES;
        if (dtype == LOOM_I32 && stored == LOOM_I32) {
            get_scalars<Int>(t, column, first, count, static_cast<Int *>(to));
        } else if (dtype == LOOM_F64 && stored == LOOM_F64) {
            get_scalars<Double>(t, column, first, count, static_cast<Double *>(to));
        } else if (dtype == LOOM_BOOL && stored == LOOM_BOOL) {
            get_scalars<Bool>(t, column, first, count, static_cast<Bool *>(to));
        } else {
            wrong_type(any, loom_dtype_name(dtype));
        }
    });
}

loom_status *loom_casa_cell(const loom_casa *table, const char *column, int64_t row, loom_dtype dtype, void **to,
                            int64_t *n) {
    return guarded(LOOM_E_DATA, at(table, column), [&] {
        if (dtype == LOOM_I32) {
            get_cell<Int>(table->table, column, row, to, n);
        } else {
            get_cell<Double>(table->table, column, row, to, n);
        }
    });
}

loom_status *loom_casa_text(const loom_casa *table, const char *column, int64_t row, char **text) {
    return guarded(LOOM_E_DATA, at(table, column),
                   [&] { *text = copy_text(ScalarColumn<String>(table->table, column)(static_cast<rownr_t>(row))); });
}

loom_status *loom_casa_direction(const loom_casa *table, const char *column, int64_t row, double radians[2],
                                 const char **frame) {
    return guarded(LOOM_E_DATA, at(table, column), [&] {
        ArrayMeasColumn<MDirection> directions(table->table, column);
        Array<MDirection> cell = directions(static_cast<rownr_t>(row));
        if (cell.empty()) throw unexpected("the cell is empty");
        /* The constant term of the polynomial in time. */
        MDirection direction = *cell.begin();
        uInt type = direction.getRef().getType();
        const char *name = type == MDirection::ICRS ? "ICRS" : type == MDirection::B1950 ? "B1950" : "J2000";
        if (type != MDirection::J2000 && type != MDirection::ICRS && type != MDirection::B1950) {
            direction = MDirection::Convert(direction, MDirection::Ref(MDirection::J2000))();
        }
        Vector<Double> angles = direction.getAngle("rad").getValue();
        radians[0] = angles[0];
        radians[1] = angles[1];
        *frame = name;
    });
}

loom_status *loom_casa_arrays(const loom_casa *table, const char *column, loom_dtype dtype, const loom_run *runs,
                              int64_t n_runs, const loom_casa_slice *slice, void *to) {
    return guarded(LOOM_E_DATA, at(table, column), [&] {
        const Table &t = table->table;
        TableColumn any(t, column);
        loom_dtype stored = any.columnDesc().isArray() ? dtype_of(any.columnDesc().dataType()) : LOOM_DTYPES;
        if (dtype == LOOM_BOOL && stored == LOOM_BOOL) {
            get_arrays<Bool>(t, column, runs, n_runs, *slice, static_cast<Bool *>(to));
        } else if (dtype == LOOM_F64 && stored == LOOM_F64) {
            get_arrays<Double>(t, column, runs, n_runs, *slice, static_cast<Double *>(to));
        } else if (dtype == LOOM_F64 && stored == LOOM_F32) {
            get_converted<Float, Double>(t, column, runs, n_runs, *slice, static_cast<Double *>(to));
        } else if (dtype == LOOM_F32 && stored == LOOM_F32) {
            get_arrays<Float>(t, column, runs, n_runs, *slice, static_cast<Float *>(to));
        } else if (dtype == LOOM_F32 && stored == LOOM_F64) {
            get_converted<Double, Float>(t, column, runs, n_runs, *slice, static_cast<Float *>(to));
        } else if (dtype == LOOM_C64 && stored == LOOM_C64) {
            get_arrays<Complex>(t, column, runs, n_runs, *slice, static_cast<Complex *>(to));
        } else if (dtype == LOOM_C64 && stored == LOOM_C128) {
            get_converted<DComplex, Complex>(t, column, runs, n_runs, *slice, static_cast<Complex *>(to));
        } else {
            wrong_type(any, loom_dtype_name(dtype));
        }
    });
}

loom_status *loom_casa_has_shape(const loom_casa *table, const char *column, const loom_run *runs, int64_t n_runs,
                                 int rank, const int64_t *shape, bool *has) {
    return guarded(LOOM_E_DATA, at(table, column), [&] {
        TableColumn any(table->table, column);
        IPosition expected = position(rank, shape);
        bool fixed = any.columnDesc().isFixedShape(), right = fixed && any.shapeColumn().isEqual(expected);
        for (int64_t r = 0; r < n_runs; r++) {
            const auto first = static_cast<rownr_t>(runs[r].row);
            for (int64_t i = 0; i < runs[r].count; i++) {
                *has++ = fixed ? right : cell_has_shape(any, first + static_cast<rownr_t>(i), expected);
            }
        }
    });
}

/* ---- writing ---- */

namespace {

/* A column of cells of one shape, in tiles of so many rows. */
struct bulk_column {
    const char *name, *tiled;
    IPosition cell;
    Int64 tile_rows;
};

/* Bulk columns are tiled, by about 1 MiB; what seldom changes is stored once per change. Their cells have one shape,
 * which is the table's: nobody has to look at each row's, and arrays of one number a row are not pointers to a file. */
Table make_main_table(const char *path, const loom_ms_layout *l) {
    TableDesc desc = MS::requiredTableDesc();
    MS::addColumnToDesc(desc, MS::DATA, 2);
    IPosition hands(1, l->n_correlations), cells(2, l->n_correlations, l->n_channels);
    Int64 rows = std::max<Int64>(1, (1 << 17) / std::max<Int64>(cells.product(), 1));
    const bulk_column bulk[] = {{"DATA", "TiledData", cells, rows},
                                {"FLAG", "TiledFlag", cells, rows},
                                {"UVW", "TiledUVW", IPosition(1, 3), 32768},
                                {"WEIGHT", "TiledWeight", hands, 32768},
                                {"SIGMA", "TiledSigma", hands, 32768}};
    for (const bulk_column &c : bulk) {
        if (!desc[c.name].isFixedShape()) desc.rwColumnDesc(c.name).setShape(c.cell);
        desc.defineHypercolumn(c.tiled, static_cast<uInt>(c.cell.size() + 1), Vector<String>(1, c.name));
    }
    SetupNewTable setup(path, desc, Table::New);
    setup.bindAll(StandardStMan("StandardData", 32768));
    IncrementalStMan slow("SlowData");
    for (const char *name :
         {"TIME", "TIME_CENTROID", "EXPOSURE", "INTERVAL", "FIELD_ID", "DATA_DESC_ID", "ARRAY_ID", "FEED1", "FEED2",
          "FLAG_ROW", "OBSERVATION_ID", "PROCESSOR_ID", "SCAN_NUMBER", "STATE_ID"}) {
        setup.bindColumn(name, slow);
    }
    for (const bulk_column &c : bulk) {
        setup.bindColumn(c.name, TiledColumnStMan(c.tiled, c.cell.concatenate(IPosition(1, c.tile_rows))));
    }
    return Table(setup, TableLock(TableLock::PermanentLocking));
}

void fill_antennas(MeasurementSet &ms, const loom_ms_layout *l) {
    ms.antenna().addRow(static_cast<rownr_t>(l->n_antennas));
    MSAntennaColumns c(ms.antenna());
    for (rownr_t i = 0; i < ms.antenna().nrow(); i++) {
        Vector<Double> p(3);
        for (size_t k = 0; k < 3; k++) p[k] = l->antennas[i].position[k];
        c.name().put(i, l->antennas[i].name);
        c.station().put(i, l->antennas[i].name);
        c.type().put(i, "GROUND-BASED");
        c.mount().put(i, "ALT-AZ");
        c.position().put(i, p);
        c.offset().put(i, Vector<Double>(3, 0.0));
        c.dishDiameter().put(i, l->dish_diameter);
        c.flagRow().put(i, False);
    }
}

void fill_feeds(MeasurementSet &ms, const loom_ms_layout *l) {
    bool circular = l->correlations[0] >= 5 && l->correlations[0] <= 8;
    Vector<String> hands(2);
    hands[0] = circular ? "R" : "X";
    hands[1] = circular ? "L" : "Y";
    Matrix<Complex> response(2, 2, Complex(0, 0));
    response(0, 0) = response(1, 1) = Complex(1, 0);
    ms.feed().addRow(static_cast<rownr_t>(l->n_antennas));
    MSFeedColumns c(ms.feed());
    for (rownr_t i = 0; i < ms.feed().nrow(); i++) {
        c.antennaId().put(i, static_cast<Int>(i));
        c.feedId().put(i, 0);
        c.spectralWindowId().put(i, -1);
        c.time().put(i, (l->time_first + l->time_last) / 2);
        c.interval().put(i, l->time_last - l->time_first + l->interval);
        c.numReceptors().put(i, 2);
        c.beamId().put(i, -1);
        c.beamOffset().put(i, Matrix<Double>(2, 2, 0.0));
        c.polarizationType().put(i, hands);
        c.polResponse().put(i, response);
        c.position().put(i, Vector<Double>(3, 0.0));
        c.receptorAngle().put(i, Vector<Double>(2, 0.0));
    }
}

void fill_field(MeasurementSet &ms, const loom_ms_layout *l) {
    ms.field().addRow();
    MSFieldColumns c(ms.field());
    Matrix<Double> direction(2, 1);
    direction(0, 0) = l->ra;
    direction(1, 0) = l->dec;
    c.name().put(0, l->field);
    c.code().put(0, "");
    c.time().put(0, l->time_first);
    c.numPoly().put(0, 0);
    c.delayDir().put(0, direction);
    c.phaseDir().put(0, direction);
    c.referenceDir().put(0, direction);
    c.sourceId().put(0, -1);
    c.flagRow().put(0, False);
}

void fill_window(MeasurementSet &ms, const loom_ms_layout *l) {
    ms.spectralWindow().addRow();
    MSSpWindowColumns c(ms.spectralWindow());
    size_t n = static_cast<size_t>(l->n_channels);
    Vector<Double> f(n), width(n, l->channel_width);
    for (size_t i = 0; i < n; i++) f[i] = l->frequencies[i];
    c.numChan().put(0, static_cast<Int>(n));
    c.name().put(0, "SPW0");
    c.refFrequency().put(0, f[0]);
    c.chanFreq().put(0, f);
    c.chanWidth().put(0, width);
    c.effectiveBW().put(0, width);
    c.resolution().put(0, width);
    c.measFreqRef().put(0, MFrequency::TOPO);
    c.totalBandwidth().put(0, l->channel_width * static_cast<double>(n));
    c.netSideband().put(0, 0);
    c.ifConvChain().put(0, 0);
    c.freqGroup().put(0, 0);
    c.freqGroupName().put(0, "");
    c.flagRow().put(0, False);
    ms.dataDescription().addRow();
    MSDataDescColumns d(ms.dataDescription());
    d.spectralWindowId().put(0, 0);
    d.polarizationId().put(0, 0);
    d.flagRow().put(0, False);
}

void fill_polarization(MeasurementSet &ms, const loom_ms_layout *l) {
    ms.polarization().addRow();
    MSPolarizationColumns c(ms.polarization());
    size_t n = static_cast<size_t>(l->n_correlations);
    Vector<Int> types(n);
    Matrix<Int> products(2, n);
    for (size_t i = 0; i < n; i++) {
        types[i] = l->correlations[i];
        Int hands = types[i] >= 5 ? (types[i] - 5) % 4 : 0; /* RR RL LR LL, XX XY YX YY */
        products(0, i) = hands / 2;
        products(1, i) = hands % 2;
    }
    c.numCorr().put(0, static_cast<Int>(n));
    c.corrType().put(0, types);
    c.corrProduct().put(0, products);
    c.flagRow().put(0, False);
}

void fill_observation(MeasurementSet &ms, const loom_ms_layout *l) {
    ms.observation().addRow();
    MSObservationColumns c(ms.observation());
    Vector<Double> range(2);
    range[0] = l->time_first - l->interval / 2;
    range[1] = l->time_last + l->interval / 2;
    c.telescopeName().put(0, l->telescope);
    c.timeRange().put(0, range);
    c.observer().put(0, l->observer);
    c.log().put(0, Vector<String>());
    c.scheduleType().put(0, "");
    c.schedule().put(0, Vector<String>());
    c.project().put(0, "");
    c.releaseDate().put(0, range[1]);
    c.flagRow().put(0, False);
    ms.processor().addRow();
    MSProcessorColumns p(ms.processor());
    p.type().put(0, "SIMULATOR");
    p.subType().put(0, "");
    p.typeId().put(0, -1);
    p.modeId().put(0, -1);
    p.flagRow().put(0, False);
    ms.state().addRow();
    MSStateColumns s(ms.state());
    s.sig().put(0, True);
    s.ref().put(0, False);
    s.cal().put(0, 0.0);
    s.load().put(0, 0.0);
    s.subScan().put(0, 0);
    s.obsMode().put(0, "OBSERVE_TARGET");
    s.flagRow().put(0, False);
}

/* Now, as MeasurementSets count: MJD seconds. */
double mjd_now() {
    return static_cast<double>(std::time(nullptr)) + 40587 * 86400.0;
}

void add_history(MSHistory &table, const char *origin, const char *command) {
    rownr_t row = table.nrow();
    table.addRow();
    MSHistoryColumns c(table);
    c.time().put(row, mjd_now());
    c.observationId().put(row, 0);
    c.message().put(row, command);
    c.priority().put(row, "NORMAL");
    c.origin().put(row, origin);
    c.objectId().put(row, 0);
    c.application().put(row, std::string("gridloom ") + loom_version());
    c.cliCommand().put(row, Vector<String>(1, command));
    c.appParams().put(row, Vector<String>(1, ""));
}

/* casacore's arrays share memory only as not const; nothing here writes through them. */
template <class T> T *shared(const T *p) {
    return const_cast<T *>(p);
}

template <class T> void put_same(ScalarColumn<T> column, const Slicer &rows, T value) {
    column.putColumnRange(rows, Vector<T>(rows.length()[0], value));
}

void put_ids(MSMainColumns &c, const Slicer &rows, double interval) {
    put_same<Int>(c.fieldId(), rows, 0);
    put_same<Int>(c.dataDescId(), rows, 0);
    put_same<Int>(c.arrayId(), rows, 0);
    put_same<Int>(c.feed1(), rows, 0);
    put_same<Int>(c.feed2(), rows, 0);
    put_same<Int>(c.observationId(), rows, 0);
    put_same<Int>(c.processorId(), rows, 0);
    put_same<Int>(c.scanNumber(), rows, 1);
    put_same<Int>(c.stateId(), rows, 0);
    put_same<Bool>(c.flagRow(), rows, False);
    put_same<Double>(c.exposure(), rows, interval);
    put_same<Double>(c.interval(), rows, interval);
}

/* guarded(), for what writes the MeasurementSet at `path`, which is new. */
template <class F> loom_status *writing(const std::string &path, const std::string &what, F f) {
    return guarded_work(LOOM_E_IO, what + " " + path, path.c_str(), true, f);
}

/* A table that could not be written is never destroyed: destructors of casacore write what is left, and an exception
 * out of a destructor ends the process. It stays, with its open files, until the process ends. */
void abandon(MeasurementSet *ms) {
    static std::vector<MeasurementSet *> *const abandoned = new std::vector<MeasurementSet *>;
    std::lock_guard<std::mutex> lock(one_at_a_time);
    abandoned->push_back(ms);
}

} // namespace

loom_status *loom_casa_ms_create(const char *path, const loom_ms_layout *layout, loom_casa_ms **ms) {
    MeasurementSet *made = nullptr;
    loom_status *status = writing(path, "cannot create the MeasurementSet", [&] {
        made = new MeasurementSet(make_main_table(path, layout));
        made->createDefaultSubtables(Table::New);
        fill_antennas(*made, layout);
        fill_feeds(*made, layout);
        fill_field(*made, layout);
        fill_window(*made, layout);
        fill_polarization(*made, layout);
        fill_observation(*made, layout);
        add_history(made->history(), "gridloom simulate", layout->history);
        made->flush(True);
        IPosition cell(2, layout->n_correlations, layout->n_channels);
        *ms = new loom_casa_ms{made, path, 0, cell, layout->interval};
    });
    if (status && made) abandon(made);
    return status;
}

loom_status *loom_casa_ms_put(loom_casa_ms *ms, const loom_ms_rows *rows) {
    return writing(ms->path, "cannot write to the MeasurementSet", [&] {
        Int64 n = rows->n;
        ms->ms->addRow(static_cast<rownr_t>(n));
        MSMainColumns c(*ms->ms);
        Slicer where(IPosition(1, ms->rows), IPosition(1, n));
        IPosition cube = ms->data_shape.concatenate(IPosition(1, n));
        IPosition weights(2, ms->data_shape[0], n);
        Vector<Double> time(IPosition(1, n), shared(rows->time), SHARE);
        c.uvw().putColumnRange(where, Array<Double>(IPosition(2, 3, n), shared(rows->uvw), SHARE));
        c.time().putColumnRange(where, time);
        c.timeCentroid().putColumnRange(where, time);
        c.antenna1().putColumnRange(where, Vector<Int>(IPosition(1, n), shared(rows->antenna1), SHARE));
        c.antenna2().putColumnRange(where, Vector<Int>(IPosition(1, n), shared(rows->antenna2), SHARE));
        c.data().putColumnRange(where, Array<Complex>(cube, reinterpret_cast<Complex *>(shared(rows->data)), SHARE));
        c.flag().putColumnRange(where, Array<Bool>(cube, False));
        c.weight().putColumnRange(where, Array<Float>(weights, shared(rows->weight), SHARE));
        c.sigma().putColumnRange(where, Array<Float>(weights, 1.0f));
        put_ids(c, where, ms->interval);
        ms->rows += n;
    });
}

loom_status *loom_casa_ms_close(loom_casa_ms *ms) {
    loom_status *status = writing(ms->path, "cannot finish the MeasurementSet", [&] { ms->ms->flush(True); });
    if (status) {
        abandon(ms->ms);
    } else {
        status = writing(ms->path, "cannot close the MeasurementSet", [&] { delete ms->ms; });
    }
    delete ms;
    return status;
}

/* ---- writing columns ---- */

namespace {

RefRows rows_of(const loom_run *runs, int64_t n_runs) {
    Vector<rownr_t> triples(static_cast<size_t>(3 * n_runs));
    for (size_t r = 0; r < static_cast<size_t>(n_runs); r++) {
        triples[3 * r] = static_cast<rownr_t>(runs[r].row);
        triples[3 * r + 1] = static_cast<rownr_t>(runs[r].row + runs[r].count - 1);
        triples[3 * r + 2] = 1;
    }
    return RefRows(triples, True);
}

template <class T>
void put_cells(const Table &t, const char *name, const loom_run *runs, int64_t n_runs, const loom_casa_slice &slice,
               const double *from) {
    ArrayColumn<T> column(t, name);
    IPosition shape = position(slice.rank, slice.shape), start(shape.size(), 0), length = shape;
    start[shape.size() - 1] = slice.from;
    length[shape.size() - 1] = slice.n;
    bool whole = length.isEqual(shape);
    for (int64_t r = 0; r < n_runs && !column.columnDesc().isFixedShape(); r++) {
        for (int64_t row = runs[r].row; row < runs[r].row + runs[r].count; row++) {
            rownr_t n = static_cast<rownr_t>(row);
            if (cell_has_shape(column, n, shape)) continue;
            column.setShape(n, shape);
            if (!whole) column.put(n, Array<T>(shape, T(0)));
        }
    }
    Array<T> cells(length.concatenate(IPosition(1, count_rows(runs, n_runs))));
    T *to = cells.data();
    for (size_t i = 0; i < cells.size(); i++) to[i] = T(DComplex(from[2 * i], from[2 * i + 1]));
    RefRows rows = rows_of(runs, n_runs);
    whole ? column.putColumnCells(rows, cells) : column.putColumnCells(rows, Slicer(start, length), cells);
}

/* Rows from `row` on whose cells of `like` have one shape, or have none; at most as many as make about 16 MiB. */
rownr_t like_rows(const TableColumn &like, rownr_t row, rownr_t n_rows, IPosition *shape) {
    bool there = like.isDefined(row);
    *shape = there ? like.shape(row) : IPosition();
    rownr_t most = there && shape->product() > 0 ? std::max<rownr_t>(1, (1 << 21) / shape->product()) : 65536;
    rownr_t end = row + 1;
    while (end < n_rows && end - row < most && like.isDefined(end) == there &&
           (!there || like.shape(end).isEqual(*shape))) {
        end++;
    }
    return end - row;
}

template <class T> void fill_cells(const Table &t, const char *name, const char *like, bool copy) {
    ArrayColumn<Complex> column(t, name);
    ArrayColumn<T> other(t, like);
    rownr_t n_rows = t.nrow(), n;
    for (rownr_t row = 0; row < n_rows; row += n) {
        IPosition shape;
        n = like_rows(other, row, n_rows, &shape);
        if (shape.empty()) continue;
        Slicer rows(IPosition(1, static_cast<Int64>(row)), IPosition(1, static_cast<Int64>(n)));
        Array<Complex> cells(shape.concatenate(IPosition(1, static_cast<Int64>(n))), Complex(0));
        if (copy) {
            Array<T> values = other.getColumnRange(rows);
            std::transform(values.cbegin(), values.cend(), cells.begin(), [](const T &z) { return Complex(z); });
        }
        for (rownr_t i = row; i < row + n; i++) column.setShape(i, shape);
        column.putColumnRange(rows, cells);
    }
}

/* A name that no storage manager of the table has yet. */
std::string manager_name(const Table &t, std::string name) {
    Record managers = t.dataManagerInfo();
    for (uInt i = 0; i < managers.nfields(); i++) {
        if (managers.subRecord(i).asString("NAME") != String(name)) continue;
        name += "_";
        i = static_cast<uInt>(-1);
    }
    return name;
}

std::string to_column(const loom_casa *t, const char *column) {
    return "cannot write column " + std::string(column) + " of " + t->name;
}

/* guarded(), for what writes to a table that exists. */
template <class F> loom_status *updating(const loom_casa *table, const std::string &what, F f) {
    return guarded_work(LOOM_E_IO, what, table->name.c_str(), table->is_new, f);
}

} // namespace

loom_status *loom_casa_update(const char *path, bool is_new, loom_casa **table) {
    std::string what = "cannot open the table " + std::string(path) + " for writing";
    return guarded_work(LOOM_E_CANTCREATE, what, path, is_new, [&] {
        if (!Table::isWritable(path)) throw unexpected("it may only be read");
        /* Where another process holds the lock, this one does not wait for it. */
        *table = new loom_casa{Table(path, TableLock(TableLock::PermanentLocking), Table::Update), path, is_new};
    });
}

loom_status *loom_casa_flush(loom_casa *table) {
    return updating(table, "cannot write " + table->name, [&] { table->table.flush(True); });
}

loom_status *loom_casa_end_update(loom_casa *table) {
    loom_status *status = loom_casa_flush(table);
    if (status) {
        /* As abandon(): its destructor would try again, and may not fail. */
        static std::vector<loom_casa *> *const abandoned = new std::vector<loom_casa *>;
        std::lock_guard<std::mutex> lock(one_at_a_time);
        abandoned->push_back(table);
        return status;
    }
    loom_casa_close(table);
    return nullptr;
}

bool loom_casa_is_writable(const loom_casa *table, const char *column) {
    std::lock_guard<std::mutex> lock(one_at_a_time);
    return table->table.isColumnWritable(column);
}

loom_status *loom_casa_copy(const char *from, const char *to) {
    std::string what = "cannot copy " + std::string(from) + " to " + to;
    return guarded_work(LOOM_E_IO, what, to, true, [&] {
        Table(from, TableLock(TableLock::NoLocking), Table::Old).deepCopy(to, Table::New, False, Table::AipsrcEndian);
    });
}

loom_status *loom_casa_add_column(loom_casa *table, const char *column, const char *later, int64_t hands,
                                  int64_t channels) {
    return updating(table, to_column(table, column), [&] {
        std::string tiled = manager_name(table->table, "Tiled" + std::string(later));
        Int64 cells = std::max<Int64>(1, hands * channels);
        IPosition tile(3, hands, channels, std::max<Int64>(1, (1 << 17) / cells));
        TableDesc desc;
        desc.addColumn(ArrayColumnDesc<Complex>(column, "", tiled, tiled, 2));
        desc.defineHypercolumn(tiled, 3, Vector<String>(1, column));
        table->table.addColumn(desc, TiledShapeStMan(tiled, tile));
    });
}

loom_status *loom_casa_rename_column(loom_casa *table, const char *from, const char *to) {
    return updating(table, to_column(table, to), [&] { table->table.renameColumn(to, from); });
}

loom_status *loom_casa_remove_column(loom_casa *table, const char *column) {
    return updating(table, "cannot remove column " + std::string(column) + " of " + table->name,
                    [&] { table->table.removeColumn(column); });
}

loom_status *loom_casa_fill_column(loom_casa *table, const char *column, const char *like, bool copy) {
    return updating(table, to_column(table, column), [&] {
        bool single = table->table.tableDesc()[like].dataType() == TpComplex;
        single ? fill_cells<Complex>(table->table, column, like, copy)
               : fill_cells<DComplex>(table->table, column, like, copy);
    });
}

loom_status *loom_casa_add_history(loom_casa *table, const char *origin, const char *command) {
    return updating(table, "cannot write to the table HISTORY of " + table->name, [&] {
        if (!table->table.keywordSet().isDefined("HISTORY")) throw unexpected("there is none");
        std::string path = table->table.keywordSet().asTable("HISTORY").tableName();
        if (!Table::isWritable(path)) throw unexpected("it may only be read");
        MSHistory history{Table(path, TableLock(TableLock::PermanentLocking), Table::Update)};
        add_history(history, origin, command);
        history.flush(True);
    });
}

loom_status *loom_casa_put(loom_casa *table, const char *column, const loom_run *runs, int64_t n_runs,
                           const loom_casa_slice *slice, const double *from) {
    return updating(table, to_column(table, column), [&] {
        bool single = table->table.tableDesc()[column].dataType() == TpComplex;
        single ? put_cells<Complex>(table->table, column, runs, n_runs, *slice, from)
               : put_cells<DComplex>(table->table, column, runs, n_runs, *slice, from);
    });
}
