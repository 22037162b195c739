/* Numbers that kernels of the tests and the plans that use them must agree on. */
#ifndef LOOM_WORKER_TEST_KERNELS_H
#define LOOM_WORKER_TEST_KERNELS_H

/* convolve: width of a patch, and how far it reaches before its base. */
#define PATCH      5
#define PATCH_LEFT 2

#endif
