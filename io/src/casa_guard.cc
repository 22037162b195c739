#include "casa_guard.h"
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

extern "C" {
#include "common/file.h"
}

namespace casa_guard {

std::mutex one_at_a_time;

namespace {

thread_local const work *current = nullptr;
std::terminate_handler terminate_otherwise;

std::string one_line(std::string text) {
    for (char &c : text) {
        if (c == '\n' || c == '\t') c = ' ';
    }
    return text;
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

/* Past the end of a file that is only read casacore wants to write a new bucket, and says that it may not. */
static std::string reworded(const std::string &said) {
    static const std::string writes = "::write - ", may_not = " is not writable";
    size_t from = said.find(writes), to = said.find(may_not);
    if (from == std::string::npos || to == std::string::npos || to < from) return said;
    from += writes.size();
    return said.substr(from, to - from) + " is shorter than the table says";
}

loom_status *work::failed(int why, const std::string &said) const {
    int known = loom_write_cause(disk, why);
    if (known) return loom_error_errno(code, known, "%s", what.c_str());
    std::string words = one_line(disk ? said : reworded(said));
    loom_status *status = loom_error(code, "%s: %s", what.c_str(), words.c_str());
    if (!disk && code == LOOM_E_DATA) loom_status_note(status, "hint: it is damaged, or was not copied whole");
    return status;
}

void work::last_word(const char *said, bool clean_up) const {
    int known = loom_write_cause(disk, errno);
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
