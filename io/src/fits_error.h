/* What cfitsio says, as a status. Private to io/. */
#ifndef LOOM_IO_FITS_ERROR_H
#define LOOM_IO_FITS_ERROR_H

#include "common/status.h"

/* About `code`, of "`doing` `path`" ("cannot read"); clears cfitsio's stack of messages. */
LOOM_NEW_STATUS loom_status *loom_fits_error(const char *path, int code, const char *doing);

#endif
