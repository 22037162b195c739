/* FITS and PNG, read back by astropy and libpng. */
#include "common/buffer.h"
#include "common/file.h"
#include "io/fits.h"
#include "io/png.h"
#include "loom_test.h"
#include <png.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static char *folder(void) {
    char *path = loom_xstrdup("/tmp/loom-fits-test-XXXXXX");
    LOOM_CHECK(mkdtemp(path));
    return path;
}

static void python(const char *path, const char *code) {
    char *command = loom_xprintf(
        "/usr/bin/python3 -W ignore -c \"\nimport numpy as np\nfrom astropy.io import fits\n"
        "from astropy.wcs import WCS\nh = fits.open('%s')\nh.verify('exception')\nk, d = h[0].header, h[0].data\n"
        "w = WCS(k).celestial\n%s\"",
        path, code);
    LOOM_CHECK_EQ_INT(system(command), 0);
    free(command);
}

static loom_fits_image image_of(loom_dtype dtype, const void *pixels) {
    return (loom_fits_image){.dtype = dtype,
                             .nx = 5,
                             .ny = 4,
                             .pixels = pixels,
                             .scale = 10 * M_PI / 648000,
                             .ra = 60 * M_PI / 180,
                             .dec = -45 * M_PI / 180,
                             .frame = "J2000",
                             .frequency = 150e6,
                             .bandwidth = 1e6,
                             .frequency_frame = "TOPOCENT",
                             .unit = "JY/BEAM",
                             .object = "it's \xc3\xa9",
                             .telescope = "LOFAR",
                             .date_obs = 60000.25 * 86400};
}

LOOM_TEST(fits, header_and_pixels) {
    char *at = folder(), *path = loom_xprintf("%s/a.fits", at);
    float pixels[20];
    for (int i = 0; i < 20; i++) pixels[i] = (float)i;
    pixels[3] = NAN;
    loom_fits_image image = image_of(LOOM_F32, pixels);
    const char *const history[] = {
        "a line that is longer than what one card of a header holds, so that it goes on in the next", ""};
    image.history = history;
    image.n_history = 2;
    LOOM_OK(loom_fits_write(path, &image));
    python(path,
           "assert k['BITPIX'] == -32 and d.shape == (1, 1, 4, 5), d.shape\n"
           "assert d[0, 0, 1, 0] == 5 and d[0, 0, 3, 4] == 19 and np.isnan(d[0, 0, 0, 3])\n"
           "assert k['CRPIX1'] == 3 and k['CRPIX2'] == 3 and abs(k['CRVAL1'] - 60) < 1e-9\n"
           "assert k['CTYPE1'] == 'RA---SIN' and k['CTYPE3'] == 'FREQ' and k['CTYPE4'] == 'STOKES'\n"
           "assert k['CRVAL3'] == 150e6 and k['CDELT3'] == 1e6 and k['CRVAL4'] == 1 and k['SPECSYS'] == 'TOPOCENT'\n"
           "assert k['BUNIT'] == 'JY/BEAM' and k['RADESYS'] == 'FK5' and k['EQUINOX'] == 2000\n"
           "assert k['OBJECT'].startswith('it\\'s') and k['DATE-OBS'] == '2023-02-25T06:00:00.000'\n"
           "assert ''.join(k['HISTORY']).startswith('a line that') and 'in the next' in ''.join(k['HISTORY'])\n"
           "ra, dec = w.wcs_pix2world(1, 2, 0)\nassert ra > 60 and abs(dec + 45) < 1e-6, (ra, dec)");
    free(path);
    loom_remove_tree(at);
    free(at);
}

/* At a pole straight up is still north: m grows with y, l with falling x. */
LOOM_TEST(fits, at_the_pole_and_at_zero_hours) {
    char *at = folder(), *path = loom_xprintf("%s/a.fits", at);
    double pixels[20] = {0};
    loom_fits_image image = image_of(LOOM_F64, pixels);
    image.dec = M_PI / 2;
    image.ra = -1e-3;
    image.frame = "ICRS";
    image.bandwidth = 0;
    image.date_obs = 0;
    LOOM_OK(loom_fits_write(path, &image));
    python(path, "s = np.radians(10 / 3600)\nra0 = np.radians(k['CRVAL1'])\nassert 0 <= k['CRVAL1'] < 360 and "
                 "k['RADESYS'] == 'ICRS'\n"
                 "l, m = 1 * s, 1 * s\nn = np.sqrt(1 - l * l - m * m)\ndec = np.arcsin(n)\n"
                 "dec = np.arctan2(n, np.hypot(l, m))\nra = ra0 + np.arctan2(l, -m)\n"
                 "x, y = w.wcs_world2pix(np.degrees(ra), np.degrees(dec), 0)\n"
                 "assert abs(x - 1) < 1e-5 and abs(y - 3) < 1e-5, (x, y)\nassert k['BITPIX'] == -64");
    free(path);
    loom_remove_tree(at);
    free(at);
}

static void limit_files(rlim_t bytes) {
    struct rlimit limit;
    LOOM_CHECK_EQ_INT(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    LOOM_CHECK_EQ_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static int64_t entries(const char *at) {
    char *command = loom_xprintf("test -z \"$(ls -A %s)\"", at);
    int code = system(command);
    free(command);
    return code;
}

/* A disk that fills, stood in for by a limit on the size of files. */
LOOM_TEST(fits, nothing_is_left_of_a_failed_write) {
    char *at = folder(), *path = loom_xprintf("%s/a.fits", at);
    float *pixels = calloc(512 * 512, sizeof *pixels);
    loom_fits_image image = image_of(LOOM_F32, pixels);
    image.nx = image.ny = 512;
    loom_png_picture picture = {LOOM_F32, 512, 512, pixels, 0, 0, LOOM_PNG_GREY};
    for (int i = 0; i < 512 * 512; i++) pixels[i] = (float)((i * 2654435761u) >> 8);
    signal(SIGXFSZ, SIG_IGN);
    limit_files(100000);
    LOOM_FAILS(loom_fits_write(path, &image), LOOM_E_IO);
    limit_files(1000);
    LOOM_FAILS(loom_png_write(path, &picture), LOOM_E_IO);
    limit_files(RLIM_INFINITY);
    LOOM_CHECK_EQ_INT(entries(at), 0);
    char *nowhere = loom_xprintf("%s/nowhere/a.fits", at);
    LOOM_FAILS(loom_fits_write(nowhere, &image), LOOM_E_CANTCREATE);
    free(nowhere);
    free(pixels);
    free(path);
    loom_remove_tree(at);
    free(at);
}

LOOM_TEST(png, north_is_up) {
    char *at = folder(), *path = loom_xprintf("%s/a.png", at);
    float pixels[6] = {0, 1, 2, 3, NAN, 5};
    loom_png_picture picture = {LOOM_F32, 3, 2, pixels, 0, 5, LOOM_PNG_GREY};
    LOOM_OK(loom_png_write(path, &picture));
    png_image back = {.version = PNG_IMAGE_VERSION};
    unsigned char rgba[2][3][4];
    LOOM_CHECK(png_image_begin_read_from_file(&back, path));
    LOOM_CHECK_EQ_INT(back.width, 3);
    LOOM_CHECK_EQ_INT(back.height, 2);
    back.format = PNG_FORMAT_RGBA;
    LOOM_CHECK(png_image_finish_read(&back, NULL, rgba, 0, NULL));
    LOOM_CHECK_EQ_INT(rgba[1][0][0], 0);   /* pixel (0, 0), at the bottom */
    LOOM_CHECK_EQ_INT(rgba[0][2][0], 255); /* pixel (2, 1) */
    LOOM_CHECK_EQ_INT(rgba[0][1][3], 0);   /* NaN is transparent */
    LOOM_CHECK_EQ_INT(rgba[0][0][3], 255);
    picture.colours = LOOM_PNG_INFERNO;
    picture.low = picture.high = 0;
    LOOM_OK(loom_png_write(path, &picture));
    picture.nx = LOOM_MAX_PNG_SIDE + 1;
    LOOM_FAILS(loom_png_write(path, &picture), LOOM_E_LIMIT);
    picture.nx = 0;
    LOOM_FAILS(loom_png_write(path, &picture), LOOM_E_LIMIT);
    free(path);
    loom_remove_tree(at);
    free(at);
}
