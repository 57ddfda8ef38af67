#!/usr/bin/env python3
"""Runs the second verifier over every vector in tests/vectors, and prints a tally."""
import sys
import tempfile
from pathlib import Path

import handoff_verify

VECTORS = Path(__file__).resolve().parent.parent / "vectors"


def read_vector(path):
    header, _, export = path.read_bytes().partition(b"\n\n")
    lines = [line.split(": ", 1) for line in header.decode().splitlines()]
    return lambda name: [value for key, value in lines if key == name], export


def check(path, scratch):
    """What the verifier says otherwise than the vector, as texts."""
    header, export = read_vector(path)
    file = Path(scratch, path.stem + ".jsonl")
    file.write_bytes(export)
    known = dict(each.split() for each in header("known"))
    request = {"path": str(file), "kind": "export", "root": header("root")[0], "known": known}
    answer = handoff_verify.verify(request)
    head = answer["head"]
    if head:
        answer = handoff_verify.verify(request | {"at": head["seq"]})
    ledger = (answer["checkpoint"] or "").partition("/")[2][:12]
    sessions = {each["session"]: each for each in answer["sessions"]}
    said = {
        "expect": [answer["result"]],
        "fault": [f"{each['seq']} {each['kind']}" for each in answer["faults"]],
        "refused": [f"{each['seq']} {each['rule']}" for each in answer["refused"]],
        "void": [str(seq) for seq in answer["voided"]],
        "head": [f"handoff1:{ledger}:{head['seq']}:{head['hash']}" if head else "none"],
    }
    wanted = {name: header(name) for name in said}
    for line in header("axis"):
        session, axis, *verdict = line.split()
        found = [each for each in sessions[int(session)]["axes"] if each["seq"] == int(axis)]
        said[f"axis {session} {axis}"] = [[each["verdict"]] + [each["reason"]] * bool(each["reason"])
                                          for each in found]
        wanted[f"axis {session} {axis}"] = [verdict]
    for line in header("claim"):
        session, claim, state = line.split()
        states = {each["claim"]: each["state"] for each in sessions[int(session)]["claims"]}
        said[f"claim {session} {claim}"] = states.get(claim, "unknown")
        wanted[f"claim {session} {claim}"] = state
    for line in header("admissible"):
        session, claims = line.split()
        said[f"admissible {session}"] = ",".join(sessions[int(session)]["admissible"]) or "-"
        wanted[f"admissible {session}"] = claims
    return [f"{name}: {wanted[name]} in the vector, here {said[name]}"
            for name in said if said[name] != wanted[name]]


def tally(paths, scratch):
    wrong = {}
    for path in paths:
        try:
            if differences := check(path, scratch):
                wrong[path.stem] = differences
        except Exception as error:  # a crash is a failure of that vector, whatever it is
            wrong[path.stem] = [repr(error)]
    return wrong


def main():
    paths = sorted(VECTORS.glob("*.txt"))
    with tempfile.TemporaryDirectory() as scratch:
        wrong = tally(paths, scratch)
    for name, differences in wrong.items():
        print(name, *differences, sep="\n    ")
    print(f"{len(paths) - len(wrong)} of {len(paths)} vectors")
    return 1 if wrong or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
