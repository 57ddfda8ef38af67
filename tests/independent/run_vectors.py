#!/usr/bin/env python3
"""Runs the second verifier over every vector, as an export and as a ledger file, and then over the
same vectors with one of its checks off at a time, which must fail. Prints a tally; exits 1 if
anything is not as it should be."""
import json
import re
import sqlite3
import subprocess
import sys
import tempfile
from base64 import b64decode
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

import handoff_format
import handoff_verify
from handoff_verify import Ledger

HERE = Path(__file__).resolve().parent
VECTORS = sorted((HERE.parent / "vectors").glob("*.txt"))
FORMAT = (HERE.parents[1] / "ledger-format.md").read_text()
SCHEMA = re.search(r"```sql\n(.*?)```", FORMAT, re.DOTALL)[1]


def read_vector(path):
    header, _, export = path.read_bytes().partition(b"\n\n")
    lines = [line.split(": ", 1) for line in header.decode().splitlines()]
    return lambda name: [value for key, value in lines if key == name], export


def write_ledger_file(path, records):
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.executescript("PRAGMA ignore_check_constraints = ON; PRAGMA synchronous = OFF;")
        database.executescript(f"{SCHEMA} PRAGMA user_version = 1;")
        database.execute(f"PRAGMA application_id = {0x686E6466}")
        database.executemany("INSERT INTO event VALUES (?, ?)", enumerate(records))


def records_of(export):
    lines = [line for line in export.split(b"\n") if line.startswith(b'{"event":')]
    return [b64decode(line[-90:-2]) + line[9:-98] for line in lines]


def differences(header, path):
    """What the verifier says otherwise than a vector's header, of a file."""
    request = {"path": str(path), "root": header("root")[0],
               "known": dict(each.split() for each in header("known"))}
    head = handoff_verify.verify(**request)["head"]
    answer = handoff_verify.verify(**request, at=head["seq"] if head else None)
    ledger = (answer["ledger"] or "")[:12]
    sessions = {each["session"]: each for each in answer["sessions"]}
    said = {"expect": [answer["result"]], "void": [str(seq) for seq in answer["voided"]],
            "fault": [f"{each['seq']} {each['kind']}" for each in answer["faults"]],
            "refused": [f"{each['seq']} {each['rule']}" for each in answer["refused"]],
            "head": [f"handoff1:{ledger}:{head['seq']}:{head['hash']}" if head else "none"]}
    wanted = {name: header(name) for name in said}
    for line in header("axis"):
        session, axis, *verdict = line.split()
        wanted[f"axis {session} {axis}"] = [verdict]
        said[f"axis {session} {axis}"] = [
            [each[name] for name in ("verdict", "reason") if each[name]]
            for each in sessions[int(session)]["axes"] if each["seq"] == int(axis)]
    for line in header("claim"):
        session, claim, wanted[f"claim {session} {claim}"] = line.split()
        states = {each["claim"]: each["state"] for each in sessions[int(session)]["claims"]}
        said[f"claim {session} {claim}"] = states.get(claim, "unknown")
    for line in header("admissible"):
        session, wanted[f"admissible {session}"] = line.split()
        said[f"admissible {session}"] = ",".join(sessions[int(session)]["admissible"]) or "-"
    return [f"{name}: {wanted[name]} in the vector, here {said[name]}"
            for name in said if said[name] != wanted[name]]


def failures(files, names=None):
    """By vector and form, what is otherwise than it says; a crash is a failure, whatever it is."""
    for (name, form), (header, path) in files.items():
        try:
            found = differences(header, path) if names is None or name in names else []
        except Exception as error:
            found = [repr(error)]
        if found:
            yield f"{name}, {form}", found


def without_rule(name):
    """The rules that an event is judged by, with none of that name."""
    rules = handoff_verify.rules
    return patch.object(handoff_verify, "rules", lambda *asked: (
        {each: group[each] for each in group if each != name} for group in rules(*asked)))


def with_notion(name, always):
    """A state of which one notion is always the same, whatever the events are."""
    look = Ledger.look

    def looks(self):
        look(self)
        setattr(self, name, always)
    return patch.object(Ledger, "look", looks)


def without_fault(name):
    walk = handoff_verify.walk

    def walk_without(records, known):
        events, leaves, faults = walk(records, known)
        return events, leaves, [fault for fault in faults if fault[1] != name]
    return patch.object(handoff_verify, "walk", walk_without)


# Checks that are no rule and no fault by name: what is put in place of them.
CONTROLS = {
    "every signature is valid": patch.object(handoff_verify, "signature_is_valid", lambda *_: True),
    "every key is sound": patch.object(handoff_verify, "public_key", len),
    "every spelling is canonical": patch.object(
        handoff_verify, "read_event", lambda data: (handoff_format.read_event(data)[0], True)),
    "every axis is held": patch.object(handoff_verify, "verdict", lambda *_: ("held", None)),
    "no event is void": patch.object(Ledger, "voids", lambda *_: False),
    "there is no obstacle": patch.object(handoff_verify, "has_obstacle", lambda *_: False),
    "no run refutes a support": patch.object(handoff_verify, "failed_runs", lambda *_: []),
    "every support counts": patch.object(handoff_verify, "SUPPORTS_MAX", 10**9),
    "nothing weighs too much": patch.object(handoff_verify, "WEIGHT_MAX", 10**9),
    "every claim is admissible": patch.object(
        handoff_verify, "admissible", lambda state, *_: state.spoken),
    "nothing is ambient": with_notion("ambient", set()),
    "nothing was retracted": with_notion("retracted", {}),
    "no flag is open": with_notion("open", {})}


def missed_controls(files):
    """Checks that are off without a vector failing."""
    ruled, faulty = {}, {}
    for (name, _), (header, _) in files.items():
        for line in header("refused"):
            ruled.setdefault(line.split()[1], set()).add(name)
        for line in header("fault"):
            faulty.setdefault(line.split()[1], set()).add(name)
    controls = {f"rule {rule}": (without_rule(rule), names) for rule, names in ruled.items()}
    controls |= {f"fault {name}": (without_fault(name), names) for name, names in faulty.items()}
    controls |= {name: (control, None) for name, control in CONTROLS.items()}
    files, missed = dict(reversed(files.items())), []  # most of what CONTROLS break comes late
    for name, (control, names) in controls.items():
        with control:
            if not any(failures(files, names)):
                missed.append(name)
    return missed, len(controls)


# Section 13: bytes of a ledger file's header that must be as they are, by offset.
FIXED = [18, 19, 20, 21, 22, 23, 31, 47, 51, 55, 59, 67, 72, 91]


def unseen_faults(path, scratch):
    """What no vector has: faults of ledger files that the verifier names otherwise."""
    def faults(data):
        scratch.write_bytes(data)
        found = handoff_verify.verify(scratch)["faults"]
        return [(each["seq"], each["kind"]) for each in found]

    def altered(trigger, statement):
        scratch.write_bytes(sound)
        with closing(sqlite3.connect(scratch, isolation_level=None)) as database:
            made = f"SELECT sql FROM sqlite_schema WHERE name = '{trigger}'"
            made = database.execute(made).fetchone()[0]
            database.executescript(f"DROP TRIGGER {trigger}; {statement}; {made}")
        return faults(scratch.read_bytes())
    sound = path.read_bytes()
    for at in FIXED:
        told = faults(sound[:at] + bytes([sound[at] ^ 8]) + sound[at + 1:])
        if (None, "storage") not in told:
            yield f"byte {at} altered: {told}"
    told = altered("event_no_delete", "DELETE FROM event WHERE seq = 5")
    if told != [(5, "seq"), (6, "link")]:
        yield f"a row less: {told}"
    told = altered("event_only_next", "INSERT INTO event VALUES (-1, x'00')")
    if told != [(0, "storage")]:
        yield f"a row below 0: {told}"
    salted = b'{"capture":"%b","bytes":"AAAA","salt":"%b"}\n' % (b"0" * 64, b"0" * 32)
    told = faults(path.with_suffix(".jsonl").read_bytes() + salted)
    if told != [(None, "capture")]:
        yield f"a capture that hashes to something else: {told}"
    if handoff_format.meets("none", ">1"):
        yield "a version in a value that has none"


def serves(path):
    """Does one process answer a request after lines that are none?"""
    lines = ["", "[", "null", "[1]", "{}", '{"path": 1}', '{"path": "/"}', '{"path": "a\\u0000b"}',
             json.dumps({"path": str(path), "root": 7, "known": 3, "at": "x", "expect": []})]
    lines += [json.dumps({"path": str(path)})]
    run = subprocess.run([sys.executable, HERE / "handoff_verify.py", "--serve"], timeout=60,
                         input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    results = [json.loads(line)["result"] for line in run.stdout.splitlines()]
    return results == ["error"] * (len(lines) - 1) + ["self_consistent"]


def main():
    with tempfile.TemporaryDirectory() as scratch:
        files = {}
        for vector in VECTORS:
            header, export = read_vector(vector)
            exported, stored = (Path(scratch, vector.stem + end) for end in (".jsonl", ".db"))
            exported.write_bytes(export)
            files[vector.stem, "export"] = header, exported
            if vector.stem != "tampered-length":  # no such record is in a sound ledger file
                write_ledger_file(stored, records_of(export))
                files[vector.stem, "file"] = header, stored
        wrong = dict(failures(files))
        missed, controls = missed_controls(files)
        served = serves(files["verified-one-event", "export"][1])
        unseen = list(unseen_faults(files["verified-handoff", "file"][1], Path(scratch, "altered")))
    for name, found in wrong.items():
        print(name, *found, sep="\n    ")
    print(f"vectors: {len(files) - len(wrong)} of {len(files)}, {len(VECTORS)} exports among them")
    print(f"controls: {controls - len(missed)} of {controls} checks are missed when off", *missed)
    print("ledger files: faulty ones are told from sound ones", *unseen and ["BUT NOT", *unseen])
    print("serve: answers after lines that are no request" if served else "serve: FAILED")
    return 0 if files and not wrong and not missed and not unseen and served else 1


if __name__ == "__main__":
    sys.exit(main())
