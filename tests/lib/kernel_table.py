#!/usr/bin/python3
"""The table of kernels in client/programs/image.weft: for each oversampling of the grid and each support the best shape of the
kernel exp(beta (sqrt(1 - x^2) - 1)), and the largest relative error of one dimension that it leaves.

A sample at u (in cells) of a signal exp(2 pi i xi u) is spread over the cells around it with the kernel and taken back by dividing
by the kernel's transform at xi. The error is the largest over offsets of u between cells and over positions in the image, which
reach |xi| = 1 / (2 oversampling). Without arguments: prints the table."""
import numpy as np

OVERSAMPLINGS = (1.4, 1.45, 1.5, 1.55, 1.6, 1.7, 1.8, 1.9, 2.0)
SUPPORTS = range(3, 17)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(200)


def kernel(x, beta):
    t = 1 - x * x
    return np.where(t > 0, np.exp(beta * (np.sqrt(np.maximum(t, 0)) - 1)), 0)


def offsets_of(n):
    """Distances from where a cell enters the kernel, up to half a cell: the other half is alike. The kernel ends steeply, so they
    lie closer together there."""
    return np.concatenate([[1e-9], 0.5 * np.linspace(0, 1, n)[1:] ** 3])


def error(support, oversampling, beta, offsets=48, positions=65):
    xi = np.linspace(0, 0.5 / oversampling, positions)
    transform = support / 2 * ((WEIGHTS * kernel(NODES, beta)) @ np.cos(np.pi * support * np.outer(NODES, xi)))
    u = support / 2 + offsets_of(offsets)[:, None]
    cells = np.ceil(u - support / 2) + np.arange(support)
    taps = kernel((cells - u) * (2 / support), beta)
    got = np.einsum("oc,ocp->op", taps, np.exp(2j * np.pi * xi * (cells - u)[:, :, None])) / transform
    return np.abs(got - 1).max()


def best(support, oversampling):
    """Golden section in log error, which has one minimum up to small ripples, from the best of a coarse scan."""
    scan = np.arange(1.4, 2.6, 0.02)
    at = scan[np.argmin([error(support, oversampling, s * support, 17, 17) for s in scan])]
    low, high, golden = at - 0.04, at + 0.04, (np.sqrt(5) - 1) / 2
    for _ in range(20):
        a, b = high - golden * (high - low), low + golden * (high - low)
        if error(support, oversampling, a * support) < error(support, oversampling, b * support):
            high = b
        else:
            low = a
    shape = round((low + high) / 2, 3)
    return shape, error(support, oversampling, shape * support, 401, 201)


def rounded_up(e):
    digit = 10.0 ** (np.floor(np.log10(e)) - 2)
    return "%.2e" % (np.ceil(1.01 * e / digit) * digit)


if __name__ == "__main__":
    for over in OVERSAMPLINGS:
        found = [best(s, over) for s in SUPPORTS]
        print(over, "errors [" + ", ".join(rounded_up(e) for _, e in found) + "]")
        print(over, "shapes [" + ", ".join("%.3f" % s for s, _ in found) + "]", flush=True)
