"""Small UVFITS files with awkward features, written byte by byte, and what they say: `write` makes a file and gives back the
parts that tests/oracle/dft_image.py's `direct` sums."""
import io
import numpy as np

C = 299792458.0
STOKES = {1: 1, 2: 2, 3: 3, 4: 4, -1: 5, -2: 8, -3: 6, -4: 7, -5: 9, -6: 12, -7: 10, -8: 11}
TYPES = {8: ">u1", 16: ">i2", 32: ">i4", 64: ">i8", -32: ">f4", -64: ">f8"}


def card(key, value):
    if isinstance(value, bool):
        text = "%20s" % ("T" if value else "F")
    elif isinstance(value, str):
        text = "'%-8s'" % value
    else:
        text = "%20s" % (repr(value) if isinstance(value, float) else value)
    return ("%-8s= %s" % (key, text)).ljust(80)


def header(cards):
    text = "".join(c if isinstance(c, str) else card(*c) for c in cards) + "END".ljust(80)
    return text.ljust(-(-len(text) // 2880) * 2880).encode()


def table(name, columns, **keys):
    """columns: (name, format, unit-less values by row)"""
    from astropy.io import fits
    hdu = fits.BinTableHDU.from_columns([fits.Column(name=n, format=f, array=np.array(v)) for n, f, v in columns])
    hdu.header["EXTNAME"] = name
    hdu.header["EXTVER"] = 1
    for k, v in keys.items():
        hdu.header[k] = v
    out = io.BytesIO()
    fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(out)
    return out.getvalue()[2880:]


def frequencies(offsets_increments, **keys):
    """Table AIPS FQ: one (offsets of the IFs, widths) for each setup."""
    n = len(offsets_increments[0][0])
    return table("AIPS FQ", [("FRQSEL", "1J", [i + 1 for i in range(len(offsets_increments))]),
                             ("IF FREQ", "%dD" % n, [o for o, _ in offsets_increments]),
                             ("CH WIDTH", "%dE" % n, [w for _, w in offsets_increments]),
                             ("TOTAL BANDWIDTH", "%dE" % n, [w for _, w in offsets_increments]),
                             ("SIDEBAND", "%dJ" % n, [[1] * n for _ in offsets_increments])], NO_IF=n, **keys)


def sources(rows):
    """Table AIPS SU: (id, name, ra, dec)"""
    return table("AIPS SU", [("ID. NO.", "1J", [r[0] for r in rows]), ("SOURCE", "16A", [r[1] for r in rows]),
                             ("RAEPO", "1D", [r[2] for r in rows]), ("DECEPO", "1D", [r[3] for r in rows]),
                             ("EPOCH", "1D", [2000.0 for r in rows])])


class File:
    """What varies; the defaults make a plain file of 6 antennas, 12 times, 4 channels, XX and YY."""
    bitpix = -32
    scale, zero = 1.0, 0.0            # BSCALE, BZERO
    stokes = (-5, -6)                 # equally spaced
    stokes_pixel = 1                  # CRPIX of STOKES
    n_channels, f0, df, f_pixel = 4, 140e6, 0.5e6, 1.0
    offsets = None                    # of the IFs; None: no IF axis
    order = ("COMPLEX", "STOKES", "FREQ", "IF", "RA", "DEC")
    n_complex = 3
    names = ("UU---SIN", "VV---SIN", "WW---SIN")
    scales = {}                       # name of a parameter: (PSCAL, PZERO)
    split = ()                        # names of parameters written as two: a coarse and a fine part
    antennas = "BASELINE"             # or "ANTENNA1"
    first_antenna = 1
    step = 1                          # from antenna to antenna
    subarray = 0                      # added to BASELINE
    autocorrelations = True
    tables = ()
    extra = ()                        # more parameters: (name, values by group or None)
    keys = ()                         # more cards, in place of those of the same key
    without = ()                      # keys left out
    without_parameters = ()
    pad = True
    n_times = 12
    seed = 1
    spoil = None                      # called with (uvw, data): NaN and the like
    baseline = None                   # called with the baseline numbers

    def __init__(self, **changes):
        for k, v in changes.items():
            assert hasattr(File, k), k
            setattr(self, k, v)

    def encode(self, a, b):
        if self.baseline:
            return self.baseline(a, b)
        big = np.maximum(a, b).max() > 255
        huge = np.maximum(a, b).max() > 2047
        return a * 2.0 ** 31 + b + 2 ** 16 + 2 ** 22 if huge else 65536 + 2048.0 * a + b if big else 256.0 * a + b

    def make(self):
        r = np.random.default_rng(self.seed)
        n_if = len(self.offsets) if self.offsets is not None else 1
        pairs = [(i, j) for i in range(6) for j in range(i, 6) if i != j or self.autocorrelations]
        position = r.normal(size=(6, 3)) * 300
        uvw, a, b, time = [], [], [], []
        for t in range(self.n_times):
            turn = 0.13 * t
            m = np.array([[np.cos(turn), np.sin(turn), 0], [-np.sin(turn), np.cos(turn), 0.1], [0, -0.1, 1]])
            for i, j in pairs:
                uvw.append(m @ (position[j] - position[i]))
                a.append(self.first_antenna + self.step * i)
                b.append(self.first_antenna + self.step * j)
                time.append(2459000.5 + t / 100.0)
        self.uvw, self.a, self.b, self.time = np.array(uvw), np.array(a), np.array(b), np.array(time)
        n = len(self.a)
        data = np.empty((n, n_if, self.n_channels, len(self.stokes), self.n_complex))
        data[..., :2] = r.normal(size=data.shape[:-1] + (2,)) + 1
        if self.n_complex == 3:
            data[..., 2] = r.uniform(0.5, 2, size=data.shape[:-1])
            data[..., 2] *= np.where(r.random(data.shape[:-1]) < 0.05, -1, 1)
        self.data = data
        if self.spoil:
            self.spoil(self.uvw, self.data)
        return n

    def parameters(self):
        """(name, values as they should come out, PSCAL, PZERO)"""
        out = [(name, self.uvw[:, k] / C) for k, name in enumerate(self.names)]
        if self.antennas == "BASELINE":
            out.append(("BASELINE", self.encode(self.a, self.b) + self.subarray))
        else:
            out += [("ANTENNA1", self.a + 0.0), ("ANTENNA2", self.b + 0.0), ("SUBARRAY", np.ones(len(self.a)))]
        out += [("DATE", self.time), ("INTTIM", np.full(len(self.a), 10.0))]
        out += [(name, values(self) if callable(values) else np.asarray(values, float)) for name, values in self.extra]
        out = [p for p in out if p[0] not in self.without_parameters]
        done = []
        for name, v in out:
            s, z = self.scales.get(name, (1.0, 2459000.0 if name == "DATE" and self.bitpix != -64 else 0.0))
            if name not in self.split:
                done.append((name, v, s, z))
                continue
            raw = (v - z) / s
            step = 1 if self.bitpix > 0 else max(np.abs(raw).max() / 1000, 1e-30)
            coarse = np.round(raw / step) * step
            coarse = coarse.astype(TYPES[self.bitpix]).astype(float)
            done.append((name, coarse * s + z, s, z))
            fine = s / 30000 if self.bitpix > 0 else s
            done.append((name, v - (coarse * s + z), fine, 0.0))
        return done

    def stored(self, v, s, z):
        raw = (v - z) / s
        t = TYPES[self.bitpix]
        if self.bitpix > 0:
            raw = np.round(raw)
            info = np.iinfo(t)
            assert raw.min() >= info.min and raw.max() <= info.max, "a number does not fit"
        return raw.astype(t)

    def write(self, path):
        n = self.make()
        n_if = self.data.shape[1]
        parameters = self.parameters()
        columns = [self.stored(v, s, z) for _, v, s, z in parameters]
        raw = self.stored(self.data, self.scale, self.zero)
        kept = {"COMPLEX": self.n_complex, "STOKES": len(self.stokes), "FREQ": self.n_channels, "IF": n_if, "RA": 1, "DEC": 1}
        order = [x for x in self.order if x != "IF" or self.offsets is not None]
        at = {"IF": 1, "FREQ": 2, "STOKES": 3, "COMPLEX": 4}
        cells = np.transpose(raw, [0] + [at[x] for x in reversed(order) if x in at] + [at[x] for x in at if x not in order])
        groups = np.concatenate([np.stack(columns, 1), cells.reshape(n, -1)], 1).astype(TYPES[self.bitpix])
        st = self.stokes
        ds = st[1] - st[0] if len(st) > 1 else -1
        f = {"COMPLEX": (1.0, 1.0, 1.0), "STOKES": (float(st[0] + (self.stokes_pixel - 1) * ds), float(ds), float(self.stokes_pixel)),
             "FREQ": (self.f0, self.df, self.f_pixel), "IF": (1.0, 1.0, 1.0), "RA": (40.0, 1.0, 1.0), "DEC": (-30.0, 1.0, 1.0)}
        cards = [("SIMPLE", True), ("BITPIX", self.bitpix), ("NAXIS", len(order) + 1), ("NAXIS1", 0)]
        cards += [("NAXIS%d" % (i + 2), kept[x]) for i, x in enumerate(order)]
        cards += [("EXTEND", True), ("GROUPS", True), ("PCOUNT", len(parameters)), ("GCOUNT", n)]
        for i, x in enumerate(order):
            cards += [("CTYPE%d" % (i + 2), x), ("CRVAL%d" % (i + 2), f[x][0]), ("CDELT%d" % (i + 2), f[x][1]),
                      ("CRPIX%d" % (i + 2), f[x][2])]
        for i, (name, _, s, z) in enumerate(parameters):
            cards += [("PTYPE%d" % (i + 1), name), ("PSCAL%d" % (i + 1), s), ("PZERO%d" % (i + 1), z)]
        if self.scale != 1.0 or self.zero != 0.0:
            cards += [("BSCALE", self.scale), ("BZERO", self.zero)]
        cards += [("OBJECT", "SYN"), ("TELESCOP", "SYN"), ("EPOCH", 2000.0)]
        new = dict(self.keys)
        cards = [(k, new.pop(k, v)) for k, v in cards if k not in self.without] + [(k, new[k]) for k in new]
        body = groups.tobytes()
        if self.pad:
            body += bytes(-len(body) % 2880)
        with open(path, "wb") as out:
            out.write(header(cards) + body)
            for t in self.tables:
                out.write(t)
        return self.parts(parameters, columns, raw)

    def parts(self, parameters, columns, raw, windows=None, channels=slice(None), groups=slice(None), offsets=None, df=None):
        """What the file says, one part a window."""
        def read(k):
            found = [c.astype(float) * s + z for (name, _, s, z), c in zip(parameters, columns) if name.split("-")[0] == k]
            return sum(found, np.zeros(len(self.a)))
        self.kept = (parameters, columns, raw)
        uvw = np.stack([read(k) for k in ("UU", "VV", "WW")], 1) * C
        data = raw.astype(float) * self.scale + self.zero
        offsets = self.offsets if offsets is None else offsets
        df = self.df if df is None else df
        codes = [STOKES.get(s, 0) for s in self.stokes]
        hands = [codes.index(c) for c in ([1] if 1 in codes else [9, 12] if 9 in codes or 12 in codes else [5, 8]) if c in codes]
        out = []
        for k in range(data.shape[1]) if windows is None else windows:
            f = self.f0 + (np.arange(self.n_channels) + 1 - self.f_pixel) * df + (offsets[k] if offsets is not None else 0.0)
            d = data[groups, k][:, channels][:, :, hands]
            w = d[..., 2] if self.n_complex == 3 else np.ones(d.shape[:-1])
            v = (d[..., 0] + 1j * d[..., 1]).astype(np.complex64)
            out.append((uvw[groups], f[channels], v, w <= 0, np.abs(w).astype(np.float32), (self.a == self.b)[groups]))
        return out

    def some(self, **chosen):
        return self.parts(*self.kept, **chosen)
