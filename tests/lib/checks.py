"""What tests of commands share: a folder of their own, the command, and what failed."""
import os, shutil, subprocess
import given

BIN = os.environ["GRIDLOOM_BIN"]
failed, done = [], 0
folder = None


def begin(name):
    """An empty folder, where `here` puts files."""
    global folder
    folder = os.path.join(os.environ["LOOM_TMP"], name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def here(name):
    return os.path.join(folder, name)


def gridloom(*arguments):
    return subprocess.run([os.path.join(BIN, "gridloom"), *map(str, arguments)], capture_output=True, text=True, errors="replace",
                          timeout=600)


def expect(name, good, what=""):
    global done
    done += 1
    if not good:
        failed.append("%s %s" % (name, what))


def end():
    print("%d checks" % done)
    given.end(failed)
