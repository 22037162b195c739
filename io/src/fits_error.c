#include "fits_error.h"
#include <fitsio.h>
#include <stdbool.h>
#include <sys/stat.h>

/* Files are written in blocks of this many bytes; one that ends within a block was cut. */
#define FITS_BLOCK 2880

loom_status *loom_fits_error(const char *path, int code, const char *doing) {
    char why[FLEN_STATUS];
    fits_get_errstatus(code, why);
    fits_clear_errmsg();
    if (code == MEMORY_ALLOCATION) return loom_error(LOOM_E_MEMORY, "no memory for %s %s", doing, path);
    if (code == FILE_NOT_OPENED) return loom_error(LOOM_E_NOINPUT, "%s %s: %s", doing, path, why);
    struct stat info;
    bool broken = stat(path, &info) == 0 && info.st_size % FITS_BLOCK != 0;
    bool cut = broken || code == END_OF_FILE || code == NO_END || code == NEG_FILE_POS;
    return loom_error(cut || code != READ_ERROR ? LOOM_E_DATA : LOOM_E_IO, "%s %s: %s%s", doing, path, why,
                      cut ? ": the file is truncated or damaged" : "");
}
