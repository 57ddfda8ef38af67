"""Negative controls: programs that are wrong on purpose, which the suite must find out.

Each stands in for `handoff`, and must fail every case that it is wrong about, for the reason that
it is wrong; one that answers rightly must pass, so that it is not the standing in that is found
out.
"""

import os
import pathlib
import re
import sys
import tempfile

import harness
import run

PRELUDE = """#!%s -S
import os, sys, json
ARGV = sys.argv[1:]
JSON = "--json" in ARGV
HEAD = {"hash": "0" * 64, "line": "handoff1:%%s:213:%%s" %% ("0" * 12, "0" * 64), "seq": 213}
def path():
    for at, one in enumerate(ARGV):
        if one in ("--", "--ledger") and at + 1 < len(ARGV):
            return ARGV[at + 1]
    return None
def answer(exit, result, words, **more):
    body = {"schema": "handoff.verify.v1", "exit": exit, "result": result, "events": 214,
            "faults": [], "refused": [], "voided": [], "not_proven": ["the end"], "head": HEAD,
            "end": {"proven": False, "by": "none", "seq": None}, "ledger": "0" * 64,
            "signer": {"basis": "given", "root_key": "0" * 64}}
    body.update(more)
    if exit >= 2:
        body["error"] = {"code": "x", "message": "x", "next": "x", "retryable": False}
    print(json.dumps(body) if JSON else words)
    sys.exit(exit)
"""

STAND_INS = {
    "honest": (
        "answers rightly, as far as these cases go",
        """
REJECT
""",
    ),
    "gullible": (
        "says verified to everything",
        """
answer(0, "verified", "verified 214 events")
""",
    ),
    "deaf": (
        "rejects everything, good files too",
        """
answer(4, "tampered", "tampered at event 0: fault signature at event 0",
       faults=[{"seq": 0, "kind": "signature", "detail": "no"}])
""",
    ),
    "crashing": (
        "is killed by a signal",
        """
os.kill(os.getpid(), 11)
""",
    ),
    "panicking": (
        "panics as Rust does",
        """
sys.stderr.write("thread 'main' panicked at src/main.rs:1:1:\\\\nindex out of bounds\\\\n")
sys.exit(101)
""",
    ),
    "scribbling": (
        "rejects, and leaves a file beside the evidence",
        """
if path() and os.path.isdir(os.path.dirname(path())):
    open(os.path.join(os.path.dirname(path()), "litter"), "a").write("x")
REJECT
""",
    ),
    "touching": (
        "rejects, and moves the evidence's time",
        """
if path() and os.path.exists(path()):
    os.utime(path(), (1, 1))
REJECT
""",
    ),
    "boasting": (
        "rejects with exit 4, and says that all is verified",
        """
if JSON:
    REJECT
print("tampered: all records verified OK")
print("fault signature at event 100")
sys.exit(4)
""",
    ),
    "two-faced": (
        "says verified in text and tampered in JSON",
        """
if not JSON:
    answer(0, "verified", "verified 214 events")
REJECT
""",
    ),
    "misreporting": (
        "says tampered in JSON and exits 0",
        """
print(json.dumps({"schema": "handoff.verify.v1", "exit": 4, "result": "tampered", "faults": []})
      if JSON else "tampered")
sys.exit(0)
""",
    ),
    "vague": (
        "rejects, and names no fault",
        """
answer(4, "tampered", "tampered")
""",
    ),
    "elsewhere": (
        "rejects, and names another event",
        """
answer(4, "tampered", "tampered: fault signature at event 7",
       faults=[{"seq": 7, "kind": "signature", "detail": "no"}])
""",
    ),
    "babbling": (
        "prints two documents",
        """
print("{}")
answer(4, "tampered", "tampered")
""",
    ),
}
REJECT = """answer(4, "tampered", "tampered: fault signature at event 100",
       faults=[{"seq": 100, "kind": "signature", "detail": "no"}], events=100,
       head=dict(HEAD, seq=99))"""
# Cases with one hostile file at event 100, and with good ones, which each stand-in must fail.
HOSTILE = [
    "A1.d",
    "A3.a1",
    "A5.a",
    "A6.c",
    "A13.b",
    "A14.a",
    "A18.a",
    "B8.a",
    "B9.a0",
    "B12.a2",
    "C1.S+L",
    "C5.a-low0",
    "C6.a",
    "C13.a",
    "D1.a",
    "D3.a",
    "D9.seq00",
    "D17.00",
    "E2.a0",
    "E3.a00",
    "E4.a",
    "E12.a",
    "E15.c",
    "E16.a00",
    "F1.a0",
    "F2.a",
    "F7.00",
    "F13.100",
    "F15.00",
    "G6.rubbish",
]
GOOD = ["L9.control.trusted", "L9.control.export", "A17.a", "E15.control", "C9.control"]
AT_100 = ["A3.a1", "A5.a"]
# What each is wrong about, and what must be held against it there.
WRONG_ABOUT = {
    "gullible": (HOSTILE, "accepted|was written to|another answer|expected"),
    "deaf": (GOOD, "rejected"),
    "crashing": (HOSTILE + GOOD, "killed by signal 11"),
    "panicking": (HOSTILE + GOOD, "a panic"),
    "scribbling": (AT_100, "folder was changed"),
    "touching": (AT_100, "folder was changed"),
    "boasting": (AT_100, "reads as a pass"),
    "two-faced": (AT_100, "text exits 0, JSON 4"),
    "misreporting": (HOSTILE, "exit 4 in JSON"),
    "vague": (AT_100, "no fault"),
    "elsewhere": (AT_100 + ["A1.d", "A13.b", "B12.a2", "D1.a"], "the first fault is at 7"),
    "babbling": (HOSTILE, "not one line of JSON"),
}


def stand_in(folder, name):
    path = pathlib.Path(folder) / name
    source = PRELUDE % sys.executable + STAND_INS[name][1].replace(
        "REJECT", REJECT.replace("\n", "\n    ") if name == "boasting" else REJECT
    )
    path.write_text(source.replace("\\\\n", "\\n"))
    os.chmod(path, 0o755)
    return str(path)


def chosen(names):
    tables = run.chosen([], list(names), True)
    found = {case.id for _, cases in tables for case in cases}
    missing = set(names) - found
    if missing:
        raise SystemExit("no such cases: %s" % sorted(missing))
    return tables


def main(jobs):
    total = passed = 0
    with tempfile.TemporaryDirectory() as folder:
        failing, count = run.run(
            stand_in(folder, "honest"), chosen(AT_100), False, jobs, quiet=True
        )
        total += 1
        passed += not failing
        print(
            "control: a program that %s: %d of %d cases pass%s"
            % (STAND_INS["honest"][0], count - len(failing), count, failing or "")
        )
        for name, (wanted, why) in WRONG_ABOUT.items():
            failing, count = run.run(
                stand_in(folder, name), chosen(wanted), False, jobs, quiet=True
            )
            found = {
                case
                for case, said in failing.items()
                if re.search(why, said) and "the case itself broke" not in said
            }
            total += 1
            passed += found == set(wanted)
            missed = {case: failing.get(case) for case in set(wanted) - found}
            print(
                "control: a program that %s: found out by %d of %d cases%s"
                % (STAND_INS[name][0], len(found), count, ", not by %s" % missed if missed else ""),
                flush=True,
            )
        total += 1
        fine = words()
        passed += fine
        print("control: the words that read as a pass: %s" % ("told apart" if fine else "NOT"))
    print("%d controls, %d pass" % (total, passed))
    return 0 if passed == total else 1


def words():
    """The search for words is a check that can fail, both ways."""
    bad = ("verified", "All OK.", "it is valid", "PASS", "result: intact", "is admissible")
    fine = (
        "not verified",
        "unverified",
        "invalid",
        "bypass",
        "token",
        "inadmissible",
        "not_admissible",
        "book",
    )
    return all(harness.PASS.search(one) for one in bad) and not any(
        harness.PASS.search(one) for one in fine
    )
