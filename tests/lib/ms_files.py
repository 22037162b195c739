"""Small MeasurementSets with awkward features, made with casacore."""
import os
import shutil
import numpy as np
from casacore.tables import default_ms, makearrcoldesc, table


def select(path, to, condition):
    """A copy of the rows that a condition of TaQL holds for."""
    shutil.rmtree(to, ignore_errors=True)
    with table(path, ack=False) as t:
        t.query(condition).copy(to, deep=True).close()


def put_rows(path, n, **columns):
    with table(path, ack=False, readonly=False) as t:
        if t.nrows() < n:
            t.addrows(n - t.nrows())
        for name, cells in columns.items():
            for i, cell in enumerate(cells):
                t.putcell(name, i, cell)


def write(path, windows, setups, descriptions, fields, rows, seed=1, weight_spectrum=False, spectrum_of=None):
    """windows: (frequencies, widths); setups: lists of CORR_TYPE; descriptions: (window, setup); fields: (name, ra, dec) in
    radians; rows: (data description, field) in the order of the file. spectrum_of: whether row i has a WEIGHT_SPECTRUM."""
    shutil.rmtree(path, ignore_errors=True)
    r = np.random.default_rng(seed)
    ms = default_ms(path)
    ms.addcols(makearrcoldesc("DATA", 0j, valuetype="complex", ndim=2))
    if weight_spectrum:
        ms.addcols(makearrcoldesc("WEIGHT_SPECTRUM", 0.0, valuetype="float", ndim=2))
    sub = lambda name: os.path.join(path, name)
    put_rows(sub("ANTENNA"), 6, NAME=["A%d" % i for i in range(6)], POSITION=r.normal(size=(6, 3)) * 300)
    put_rows(sub("SPECTRAL_WINDOW"), len(windows), NUM_CHAN=[len(f) for f, _ in windows], CHAN_FREQ=[np.array(f, float) for f, _ in windows],
             CHAN_WIDTH=[np.array(w, float) for _, w in windows], EFFECTIVE_BW=[np.abs(w) for _, w in windows],
             RESOLUTION=[np.abs(w) for _, w in windows], REF_FREQUENCY=[float(f[0]) for f, _ in windows],
             TOTAL_BANDWIDTH=[float(np.abs(w).sum()) for _, w in windows], MEAS_FREQ_REF=[5] * len(windows))
    put_rows(sub("POLARIZATION"), len(setups), NUM_CORR=[len(s) for s in setups], CORR_TYPE=[np.array(s, np.int32) for s in setups],
             CORR_PRODUCT=[np.zeros((len(s), 2), np.int32) for s in setups])
    put_rows(sub("DATA_DESCRIPTION"), len(descriptions), SPECTRAL_WINDOW_ID=[d[0] for d in descriptions],
             POLARIZATION_ID=[d[1] for d in descriptions])
    directions = [np.array([[ra, dec]]) for _, ra, dec in fields]
    put_rows(sub("FIELD"), len(fields), NAME=[f[0] for f in fields], PHASE_DIR=directions, DELAY_DIR=directions, REFERENCE_DIR=directions)
    put_rows(sub("OBSERVATION"), 1, TELESCOPE_NAME=["SYN"], OBSERVER=["nobody"])
    ms.addrows(len(rows))
    for i, (d, field) in enumerate(rows):
        window, setup = descriptions[d]
        c, h = len(windows[window][0]), len(setups[setup])
        put = lambda name, value: ms.putcell(name, i, value)
        put("DATA_DESC_ID", d)
        put("FIELD_ID", field)
        a = i % 6
        put("ANTENNA1", a)
        put("ANTENNA2", (a + 1 + i // 6 % 6) % 6)
        put("TIME", 4.8e9 + i)
        put("SCAN_NUMBER", 1 + i // 50)
        put("UVW", r.normal(size=3) * 300)
        put("DATA", (r.normal(size=(c, h)) + 1j * r.normal(size=(c, h)) + 1).astype(np.complex64))
        put("FLAG", r.random((c, h)) < 0.05)
        put("FLAG_ROW", bool(r.random() < 0.03))
        put("WEIGHT", r.uniform(0.5, 2, h).astype(np.float32))
        put("SIGMA", np.ones(h, np.float32))
        if weight_spectrum and (spectrum_of is None or spectrum_of(i)):
            put("WEIGHT_SPECTRUM", r.uniform(0.5, 2, (c, h)).astype(np.float32))
    ms.close()
