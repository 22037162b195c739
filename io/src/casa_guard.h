/* What stands around each call of casacore: one at a time, exceptions become a status, and where casacore ends the
 * process itself, or the system refuses what it needs, the message says so. C++, for casa.cc alone.
 *
 * Of some damaged tables, and where a disk is full, casacore ends the process where nothing can be caught: it throws
 * out of a destructor, or anew what is not there (terminate), or follows an offset that is wild (SIGSEGV, SIGBUS,
 * SIGFPE; SIGABRT of the heap). Then the last word is what was being done, with the exit code of that. */
#ifndef LOOM_IO_CASA_GUARD_H
#define LOOM_IO_CASA_GUARD_H

#include <cerrno>
#include <exception>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>

extern "C" {
#include "common/status.h"
}

namespace casa_guard {

extern std::mutex one_at_a_time;

/* Thrown where a table is whole but does not hold what it should. */
class unexpected : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/* What this thread asks of casacore, for as long as it is in scope. */
class work {
  public:
    /* `disk`: a path on the file system that is written to, or null; `remains`: it is new, and not to be left half
     * done. */
    work(const std::string &what, loom_code code, const char *disk, bool remains);
    ~work();
    work(const work &) = delete;
    work &operator=(const work &) = delete;
    /* What became of it; `why` is errno, and `said` casacore's own words, which seldom name a damaged file as that. */
    loom_status *failed(int why, const std::string &said) const;
    [[noreturn]] void last_word(const char *said, bool clean_up) const;

  private:
    const std::string &what;
    loom_code code;
    const char *disk;
    bool remains;
};

/* Runs f under the lock. */
template <class F>
loom_status *guarded_work(loom_code code, const std::string &what, const char *disk, bool remains, F f) {
    std::lock_guard<std::mutex> lock(one_at_a_time);
    work now(what, code, disk, remains);
    errno = 0;
    try {
        f();
        return nullptr;
    } catch (const std::bad_alloc &) {
        return loom_error(LOOM_E_MEMORY, "%s: out of memory", what.c_str());
    } catch (const unexpected &e) {
        return loom_error(code, "%s: %s", what.c_str(), e.what());
    } catch (const std::exception &e) {
        int why = errno;
        return now.failed(why, e.what());
    } catch (...) {
        int why = errno;
        return now.failed(why, "casacore failed and does not say why");
    }
}

/* For what reads. */
template <class F> loom_status *guarded(loom_code code, const std::string &what, F f) {
    return guarded_work(code, what, nullptr, false, f);
}

} // namespace casa_guard

#endif
