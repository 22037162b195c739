#include "casa_guard.h"
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

extern "C" {
#include "common/file.h"
}

namespace casa_guard {

std::mutex one_at_a_time;

namespace {

/* A disk with less than this left is called full. */
constexpr uint64_t NO_ROOM = 65536;

thread_local const work *current = nullptr;
std::terminate_handler terminate_otherwise;

std::string one_line(std::string text) {
    for (char &c : text) {
        if (c == '\n' || c == '\t') c = ' ';
    }
    return text;
}

/* casacore reports a short write with whatever errno was left from before, and mostly says which of its own assertions
 * does not hold: so the disk is asked too. What has succeeded since has left errno as it was. 0: no cause is known. */
int cause(int why, const char *disk) {
    struct statvfs room;
    struct rlimit size;
    if (loom_errno_hint(why)) return why;
    if (disk && statvfs(disk, &room) == 0 && static_cast<uint64_t>(room.f_bavail) * room.f_frsize < NO_ROOM)
        return ENOSPC;
    if (disk && getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur != RLIM_INFINITY) return EFBIG;
    return 0;
}

void on_terminate() {
    if (!current) {
        terminate_otherwise();
        abort();
    }
    std::string said;
    try {
        if (std::current_exception()) std::rethrow_exception(std::current_exception());
    } catch (const std::exception &e) {
        said = one_line(e.what());
    } catch (...) {}
    current->last_word(said.c_str(), true);
}

/* Another's own fault comes again, and ends the process as it would have. Nothing is cleaned up: the heap may be
 * broken. */
void on_fault(int number) {
    if (current) current->last_word("", false);
    signal(number, SIG_DFL);
}

const bool faults_are_told = [] {
    terminate_otherwise = std::set_terminate(on_terminate);
    for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) {
        struct sigaction before;
        if (sigaction(number, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue; /* a sanitizer's */
        struct sigaction action = {};
        action.sa_handler = on_fault;
        sigaction(number, &action, nullptr);
    }
    return true;
}();

void say(const char *text) {
    if (write(STDERR_FILENO, text, strlen(text)) < 0) return;
}

} // namespace

work::work(const std::string &what_, loom_code code_, const char *disk_, bool remains_)
    : what(what_), code(code_), disk(disk_), remains(remains_) {
    current = this;
}

work::~work() {
    current = nullptr;
}

loom_status *work::failed(int why, const std::string &said) const {
    int known = cause(why, disk);
    if (!known) return loom_error(code, "%s: %s", what.c_str(), one_line(said).c_str());
    return loom_error_errno(code, known, "%s", what.c_str());
}

void work::last_word(const char *said, bool clean_up) const {
    int known = cause(errno, disk);
    say("error: ");
    say(what.c_str());
    if (known) {
        say(": ");
        say(strerrordesc_np(known));
        say("\n  ");
        say(loom_errno_hint(known));
    } else if (disk) {
        say(": casacore cannot go on: ");
        say(*said ? said : "it does not say why");
    } else {
        say(": it is damaged, and casacore cannot go on");
    }
    say("\n");
    if (clean_up && remains) loom_remove_tree(disk);
    _exit(loom_code_exit(code));
}

} // namespace casa_guard
