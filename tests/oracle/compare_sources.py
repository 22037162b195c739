#!/usr/bin/python3
"""Finds the sources in an image and compares them with those that were put into the simulation.

usage: compare_sources.py IMAGE.fits SOURCES [--data DATA.ms [--tol T]]
SOURCES: one source a line, "l m flux": offsets from the phase centre as direction cosines in arcsec, l to the east and
m to the north, and Jy; '#' begins a comment.
Each source must be a local maximum of the image within half a pixel of its place (by the header's coordinates) and its
peak within 10 % of its flux (the sidelobes of the others). With --data, the pixels around each source are also compared
with the direct Fourier sum. Prints a table; exit status 1 if anything is off. Needs python3-astropy.
"""
import argparse
import os
import sys
import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
ASEC = np.pi / 180 / 3600


def read_sources(path):
    rows = []
    with open(path) as f:
        for number, line in enumerate(f, 1):
            words = line.split("#")[0].split()
            if not words:
                continue
            if len(words) < 3:
                sys.exit("%s:%d: expected l, m and flux" % (path, number))
            rows.append([float(w) for w in words[:3]])
    if not rows:
        sys.exit("%s has no sources" % path)
    return np.array(rows)


def place(header, l, m):
    """Pixel (x, y) from 0 of direction cosines (l, m), by way of right ascension and declination and the header."""
    from astropy.wcs import WCS
    ra0, dec0 = np.radians(header["CRVAL1"]), np.radians(header["CRVAL2"])
    n = np.sqrt(1 - l * l - m * m)
    dec = np.arcsin(m * np.cos(dec0) + n * np.sin(dec0))
    ra = ra0 + np.arctan2(l, n * np.cos(dec0) - m * np.sin(dec0))
    x, y = WCS(header).celestial.wcs_world2pix(np.degrees(ra), np.degrees(dec), 0)
    return float(x), float(y)


def vertex(a, b, c):
    """Where the parabola through values at -1, 0, 1 has its top, and how high."""
    bend = a - 2 * b + c
    at = 0.5 * (a - c) / bend if bend < 0 else 0.0
    return at, b - 0.25 * (a - c) * at


def local_maxima(image, least):
    """(x, y, peak) of local maxima above `least`, to a fraction of a pixel."""
    inner = image[1:-1, 1:-1]
    top = inner > least
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            if dx or dy:
                top &= inner >= image[1 + dy:image.shape[0] - 1 + dy, 1 + dx:image.shape[1] - 1 + dx]
    found = []
    for y, x in zip(*(q + 1 for q in np.nonzero(top))):
        dx, px = vertex(image[y, x - 1], image[y, x], image[y, x + 1])
        dy, py = vertex(image[y - 1, x], image[y, x], image[y + 1, x])
        found.append((x + dx, y + dy, px + py - image[y, x]))
    return np.array(found).reshape(-1, 3)


def check_sums(data, image, scale, places, tolerance):
    """Compares 3x3 pixels around each place with the direct sum; returns the largest relative error."""
    import dft_image
    ny, nx = image.shape
    around = [(int(round(x)) + i, int(round(y)) + j) for x, y in places for i in (-1, 0, 1) for j in (-1, 0, 1)]
    x, y = np.array(sorted({(i, j) for i, j in around if 0 <= i < nx and 0 <= j < ny})).T
    parts = dft_image.load_ms(data, "DATA", 0, -1, slice(None))
    D, W, A, _ = dft_image.direct(parts, (nx // 2 - x) * scale, (y - ny // 2) * scale, scale, NX=nx, NY=ny)
    error = np.abs(image[y, x] - D / W).max() / max(np.abs(D / W).max(), A / W)
    print("direct sums at %d pixels around the sources: max error %.2g (%g allowed)" % (len(x), error, tolerance))
    return error


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("image")
    p.add_argument("sources")
    p.add_argument("--data")
    p.add_argument("--tol", type=float, default=1e-4)
    a = p.parse_args()
    from astropy.io import fits
    header = fits.getheader(a.image)
    image = np.squeeze(fits.getdata(a.image)).astype(float)
    if image.ndim != 2 or not np.isfinite(image).all():
        sys.exit("%s is not one finite plane" % a.image)
    sources = read_sources(a.sources)
    found = local_maxima(image, 0.5 * sources[:, 2].min())
    bad, places = 0, []
    print("%10s %10s %8s   %9s %9s %8s %7s" % ("l (asec)", "m (asec)", "Jy", "x", "y", "found", "off"))
    for l, m, flux in sources:
        x, y = place(header, l * ASEC, m * ASEC)
        places.append((x, y))
        if not len(found):
            print("%10.1f %10.1f %8.3f   nothing found in the image" % (l, m, flux))
            bad += 1
            continue
        off = np.hypot(found[:, 0] - x, found[:, 1] - y)
        k = int(off.argmin())
        ok = off[k] <= 0.5 and abs(found[k, 2] / flux - 1) <= 0.1
        bad += not ok
        print("%10.1f %10.1f %8.3f   %9.2f %9.2f %8.3f %4.2f px%s"
              % (l, m, flux, found[k, 0], found[k, 1], found[k, 2], off[k], "" if ok else "  <- wrong"))
    if a.data and check_sums(a.data, image, abs(header["CDELT2"]) * np.pi / 180, places, a.tol) > a.tol:
        bad += 1
    print("%d of %d sources found where they were put" % (len(sources) - min(bad, len(sources)), len(sources)))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
