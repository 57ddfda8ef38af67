"""E: events that are signed, linked and well-formed, and that break a rule."""

import json

import forger
from forger import AXIS_PROBE, FAILING, PROOF, SCOPE, STEP, probe, probe_digest
from harness import (
    Expect,
    Table,
    accepted,
    demand,
    hold,
    ledger,
    tampered,
    unlawful,
)

TABLE = Table("E")
FULL = ledger()
COUNT = FULL.count
MARK = FULL.marks
SEALED, OPEN, AXIS = MARK["sealed"], MARK["open"], MARK["axis"]
UNMET = [{"met": False, "met_by_empty": False}]
NO_VALUE = {"extracted": False, "value": None, "expectations": UNMET}


def last(*rules):
    """The event that was forged last is the one refused."""
    return unlawful(*rules)


def case(name, what, forge, *rules):
    """`forge` ends with the event that must be refused by one of the rules."""

    def judge(made):
        forge(made)
        return unlawful(*rules, at=made.count - 1)

    TABLE.forged(name, what, judge, last(*rules))


def lawful(name, what, forge):
    def judge(world):
        made = ledger()
        forge(made)
        made.save(world.file)
        accepted(world, world.file, made.count)

    TABLE.add(name, what, judge)


def held(made):
    return made.receipt(OPEN, AXIS_PROBE)


def bracketed(made, proof, value="4", **members):
    held(made)
    shown = made.receipt(OPEN, proof, **{"value": value, **members})
    held(made)
    return shown


def state(world, seq, session, **options):
    """The state at an event, as the program folds it from the file."""
    told = world.json(
        "--trust",
        forger.ROOT.public,
        "--ledger",
        world.file,
        "--session",
        session,
        "state",
        "--at",
        seq,
        **options,
    )
    demand(told.code == 0, "no state", told)
    return told.document


def admissible(document, claim):
    found = [one for one in document["claims"] if one["claim"] == claim]
    return bool(found) and found[0]["admissible"]


# --- E2: what failed proves nothing ---
FAILURES = {
    "exit 1": ("4", {"outcome": {"end": "exited", "exit": 1}}),
    "exit 255": ("4", {"outcome": {"end": "exited", "exit": 255}}),
    "timed out": (None, {"outcome": {"end": "timed_out"}, **NO_VALUE}),
    "killed by signal 9": (None, {"outcome": {"end": "signaled", "signal": 9}, **NO_VALUE}),
    "not found": (None, {"outcome": {"end": "not_found"}, "outputs": None, **NO_VALUE}),
    "not executable": (None, {"outcome": {"end": "not_executable"}, "outputs": None, **NO_VALUE}),
    "interrupted": (None, {"outcome": {"end": "interrupted"}, **NO_VALUE}),
    "expectation unmet": ("5", {"expectations": UNMET}),
    "no value": (None, NO_VALUE),
}
for at, (what, (value, members)) in enumerate(FAILURES.items()):

    def promoted(made, value=value, members=members):
        shown = bracketed(made, FAILING, **{"value": value, **members})
        made.promoted(OPEN, "pending-two", MARK["flag_two"], shown, [AXIS])

    def claimed(made, value=value, members=members):
        shown = bracketed(made, PROOF, **{"value": value, **members})
        made.verified(OPEN, "new", "statement", [shown], [AXIS])

    def recorded(made, value=value, members=members):
        shown = made.receipt(OPEN, FAILING, **{"value": value, **members})
        made.axis(OPEN, "new", shown)

    case("E2.a%d" % at, "promotion by a receipt: " + what, promoted, "receipt_failed")
    case("E2.b%d" % at, "claim by a receipt: " + what, claimed, "receipt_failed")
    case("E2.c%d" % at, "axis by a receipt: " + what, recorded, "receipt_failed")


def one_failed(made):
    held(made)
    good = made.receipt(OPEN, PROOF)
    bad = made.receipt(OPEN, FAILING, "5", expectations=UNMET)
    held(made)
    made.verified(OPEN, "new", "statement", [good, bad], [AXIS])


case("E2.d", "a claim by two receipts, one of which failed", one_failed, "receipt_failed")

# --- E3: another command than was promised ---
OTHER_STEPS = {
    "one byte": {"argv": ["cat", "other.txu"]},
    "an argument more": {"argv": ["cat", "other.txt", "-"]},
    "an argument less": {"argv": ["cat"]},
    "an empty argument": {"argv": ["cat", "other.txt", ""]},
    "arguments joined": {"argv": ["cat other.txt"]},
    "a trailing space": {"argv": ["cat", "other.txt "]},
    "an absolute program": {"argv": ["/bin/cat", "other.txt"]},
    "a relative path": {"argv": ["cat", "./other.txt"]},
    "another program": {"argv": ["tac", "other.txt"]},
    "another folder": {"cwd": "sub"},
    "the root folder": {"cwd": "/"},
    "an environment": {"env": ["LANG"]},
    "a shorter timeout": {"timeout_ms": 1},
    "a longer timeout": {"timeout_ms": 600001},
    "a shell": {"argv": ["cat other.txt"], "shell": True},
    "true first, in a shell": {"argv": ["true; cat other.txt"], "shell": True},
    "or true, in a shell": {"argv": ["cat other.txt || true"], "shell": True},
    "exit only": {"exit_only": True},
    "another extraction": {"extract": "line:1"},
    "another expectation": {"expect": ["value=5"]},
    "an expectation more": {"expect": ["value=4", "exit=0"]},
    "redacted": {"redact": True, "expect": ["stdout~4"]},
}
for at, (what, members) in enumerate(OTHER_STEPS.items()):
    other = dict(FAILING, **members)

    def swapped(made, other=other):
        value = "5" if "value=5" in other["expect"] else "4"
        more = {}
        if other["redact"]:
            more = {"value": None, "redacted": {"commitment": "1" * 64, "salt_digest": "2" * 64}}
        shown = bracketed(made, other, **{"value": value, **more})
        made.promoted(OPEN, "pending-two", MARK["flag_two"], shown, [AXIS])

    def lying(made, other=other):
        """The receipt claims the promised digest for the other command."""
        value = "5" if "value=5" in other["expect"] else "4"
        more = {}
        if other["redact"]:
            more = {"value": None, "redacted": {"commitment": "1" * 64, "salt_digest": "2" * 64}}
        made.receipt(OPEN, other, **{"value": value, "probe_digest": probe_digest(FAILING), **more})

    case("E3.a%02d" % at, "promotion by another command: " + what, swapped, "probe_digest")
    case("E3.b%02d" % at, "a receipt with the promised digest for: " + what, lying, "probe_digest")
case(
    "E3.c",
    "a flag with the digest of another step",
    lambda made: made.flag(OPEN, "new", "statement", PROOF, step_digest=probe_digest(STEP)),
    "probe_digest",
)
case(
    "E3.d",
    "an announcement with the digest of another step",
    lambda made: made.within(
        OPEN,
        "probe.begun",
        {"claim": "pending-two", "flag": MARK["flag_two"], "probe_digest": probe_digest(STEP)},
    ),
    "probe_digest",
)


def begun_other(made):
    made.receipt(OPEN, FAILING, begun=MARK["begun"])


case(
    "E3.e",
    "a receipt that answers the announcement of another step",
    begun_other,
    "dangling_reference",
)
case(
    "E3.f",
    "a receipt of another scope",
    lambda made: made.receipt(OPEN, FAILING, scope="0" * 64),
    "scope",
)


# --- E4: older than the promise ---
def stale(made):
    own = probe(["cat", "mine.txt"], expect=["value=4"])
    shown = bracketed(made, own)
    flag = made.flag(OPEN, "mine", "statement", own)
    made.promoted(OPEN, "mine", flag, shown, [AXIS])


case("E4.a", "promotion by a receipt from before the flag", stale, "receipt_before_flag")


def reflagged(made):
    own = probe(["cat", "mine.txt"], expect=["value=4"])
    made.flag(OPEN, "mine", "statement", own)
    shown = bracketed(made, own)
    flag = made.flag(OPEN, "mine", "statement", own)
    made.promoted(OPEN, "mine", flag, shown, [AXIS])


case(
    "E4.b",
    "promotion of a renewed flag by the receipt for the old one",
    reflagged,
    "receipt_before_flag",
)


def replaced_flag(made):
    own = probe(["cat", "mine.txt"], expect=["value=4"])
    old = made.flag(OPEN, "mine", "statement", own)
    made.flag(OPEN, "mine", "statement", own)
    shown = bracketed(made, own)
    made.promoted(OPEN, "mine", old, shown, [AXIS])


case("E4.c", "promotion of a flag that was replaced", replaced_flag, "flag_not_open")


def not_latest(made):
    shown = bracketed(made, FAILING)
    made.receipt(OPEN, FAILING, "5", expectations=UNMET)
    made.promoted(OPEN, "pending-two", MARK["flag_two"], shown, [AXIS])


case(
    "E4.d",
    "promotion by a good receipt with a later one that failed",
    not_latest,
    "receipt_not_latest",
)


def picked(made):
    shown = bracketed(made, PROOF)
    made.receipt(OPEN, PROOF, "5", expectations=UNMET)
    made.verified(OPEN, "new", "statement", [shown], [AXIS])


case("E4.e", "a claim by a good receipt with a later one that failed", picked, "receipt_not_latest")


def unbracketed(before, after):
    def forge(made):
        own = probe(["cat", "u.txt"], expect=["value=4"])
        if before is not None:
            made.receipt(OPEN, AXIS_PROBE, before)
        shown = made.receipt(OPEN, own)
        if after is not None:
            made.receipt(OPEN, AXIS_PROBE, after)
        made.verified(OPEN, "new", "statement", [shown], [AXIS])

    return forge


for at, (before, after) in enumerate((("4", None), ("4", "5"), ("5", "4"), ("5", "5"))):
    case(
        "E5.%s" % "abcd"[at],
        "axis %s before the proof and %s after" % (before, after),
        unbracketed(before, after),
        "not_bracketed",
    )

# --- E6: references that lead nowhere ---
TARGETS = {
    "nowhere": lambda made: 10**6,
    "the highest seq": lambda made: 2**53 - 1,
    "itself": lambda made: made.count,
    "the next event": lambda made: made.count + 1,
    "an axis": lambda made: AXIS,
    "a session": lambda made: OPEN,
    "genesis": lambda made: 0,
}
for at, (what, target) in enumerate(TARGETS.items()):
    gone = "dangling_reference"

    def add(name, about, forge, *rules):
        case("E6.%s%d" % (name, at), about + " cites " + what, forge, *(rules or (gone,)))

    add("a", "an axis", lambda made, target=target: made.axis(OPEN, "new", target(made)))
    add(
        "b",
        "a claim",
        lambda made, target=target: made.verified(OPEN, "new", "statement", [target(made)], [AXIS]),
    )
    add(
        "c",
        "a promotion",
        lambda made, target=target: made.promoted(
            OPEN, "pending-two", MARK["flag_two"], target(made), [AXIS]
        ),
    )
    add(
        "d",
        "a retraction",
        lambda made, target=target: made.within(
            OPEN, "claim.retracted", {"claims": ["claim"], "reason": "r", "receipt": target(made)}
        ),
    )
    add(
        "e",
        "a refused promotion",
        lambda made, target=target: made.within(
            OPEN,
            "claim.promotion_refused",
            {
                "claim": "pending-two",
                "flag": MARK["flag_two"],
                "receipt": target(made),
                "why": "probe_failed",
            },
        ),
    )
    add(
        "f",
        "a promotion's flag",
        lambda made, target=target: made.promoted(
            OPEN, "pending-two", target(made), MARK["step"], [AXIS]
        ),
    )
    add(
        "g",
        "an announcement",
        lambda made, target=target: made.within(
            OPEN,
            "probe.begun",
            {"claim": "pending-two", "flag": target(made), "probe_digest": probe_digest(FAILING)},
        ),
    )
    add(
        "h",
        "an end of an action",
        lambda made, target=target: made.within(
            OPEN, "action.finished", {"gate": target(made), "outcome": {"end": "exited", "exit": 0}}
        ),
    )
    add(
        "i",
        "a receipt's announcement",
        lambda made, target=target: made.receipt(OPEN, FAILING, begun=target(made)),
    )
    add(
        "j",
        "a withdrawal",
        lambda made, target=target: made.within(
            OPEN,
            "claim.discarded",
            {
                "claim": "pending-two",
                "flag": target(made),
                "reason": "r",
                "statement": "another step would",
                "why": "withdrawn",
            },
        ),
    )
    if what != "an axis":
        add(
            "k",
            "a reverification's axis",
            lambda made, target=target: made.reverified(
                OPEN, [{"axis": target(made), "receipt": MARK["second_receipt"]}]
            ),
        )

        def needing(made, target=target):
            shown = bracketed(made, PROOF)
            made.verified(OPEN, "new", "statement", [shown], [target(made)])

        add("l", "a claim's need", needing)
    add(
        "m",
        "a reverification's receipt",
        lambda made, target=target: made.reverified(
            OPEN, [{"axis": AXIS, "receipt": target(made)}]
        ),
        "reverified_receipt",
    )
    if what != "a session":
        add(
            "n",
            "a session",
            lambda made, target=target: made.open(forger.BOB, "x", [target(made)]),
            "session_unknown",
        )
case(
    "E6.p",
    "an axis by a receipt of another session",
    lambda made: made.axis(OPEN, "new", MARK["axis_receipt"]),
    "receipt_session",
)
case(
    "E6.q",
    "a claim by a receipt of another session",
    lambda made: made.verified(OPEN, "new", "statement", [MARK["proof"]], [AXIS]),
    "receipt_session",
)
case(
    "E6.r",
    "a reverification by a receipt of another session",
    lambda made: made.reverified(OPEN, [{"axis": AXIS, "receipt": MARK["axis_receipt"]}]),
    "reverified_receipt",
)
case(
    "E6.s",
    "a reverification by a receipt of another probe",
    lambda made: made.reverified(OPEN, [{"axis": AXIS, "receipt": MARK["step"]}]),
    "reverified_receipt",
)
case(
    "E6.t",
    "a session that inherits an open one",
    lambda made: made.open(forger.ROOT, "x", [OPEN]),
    "inherits_unsealed",
)
case(
    "E6.u",
    "a session that inherits an abandoned one",
    lambda made: made.open(forger.ROOT, "x", [MARK["gone"]]),
    "inherits_unsealed",
)


# --- E7: a receipt used twice: no rule says once, and a second support is no second proof ---
def reused(made):
    shown = bracketed(made, PROOF)
    made.verified(OPEN, "one", "statement one", [shown], [AXIS])
    made.verified(OPEN, "two", "statement two", [shown], [AXIS])


lawful("E7.a", "one receipt under two claims is lawful", reused)


def twice(made):
    body = made.events[MARK["promoted"]]["body"]
    shown = bracketed(made, STEP)
    made.within(OPEN, "claim.promoted", dict(body, receipt=shown))


lawful("E7.b", "a second promotion with a new receipt is a second support", twice)


def after_retraction(made):
    made.within(OPEN, "claim.retracted", {"claims": ["pending"], "reason": "r"})
    made.promoted(OPEN, "pending", MARK["flag"], MARK["step"], [AXIS])


case(
    "E7.c",
    "after a retraction the old receipt promotes again",
    after_retraction,
    "receipt_before_retraction",
    "receipt_not_latest",
)


def claim_after_retraction(made):
    shown = bracketed(made, PROOF)
    made.verified(OPEN, "new", "statement", [shown], [AXIS])
    made.within(OPEN, "claim.retracted", {"claims": ["new"], "reason": "r"})
    made.verified(OPEN, "new", "statement", [shown], [AXIS])


case(
    "E7.d",
    "after a retraction the old receipt verifies again",
    claim_after_retraction,
    "receipt_before_retraction",
)

# --- E8: axes without evidence ---
TABLE.forged(
    "E8.a",
    "an axis without a receipt",
    lambda made: (
        made.within(
            OPEN, "axis.recorded", {"axis": "new", "class": "reachability", "comparator": "exact"}
        )
        and None
    ),
    tampered("ENCODING", at=COUNT),
)


def constant_axis(argv, shell=False):
    def forge(made):
        shown = made.receipt(OPEN, probe(argv, shell=shell), "4")
        made.axis(OPEN, "new", shown)

    return forge


CONSTANT = (
    ["true"],
    ["echo", "4"],
    ["printf", "4"],
    ["/bin/echo", "4"],
    ["sh", "-c", "echo 4"],
    ["env", "echo", "4"],
    ["timeout", "5", "echo", "4"],
    ["bash", "-lc", "true; echo 4"],
    ["cat", "/dev/null"],
    ["test", "1", "-eq", "1"],
    [":"],
    ["sleep", "1"],
    ["nice", "-n", "echo", "4"],
    ["env", "A=1", "printf", "4"],
    ["seq", "4"],
    ["expr", "2", "+", "2"],
    ["busybox", "echo", "4"],
    ["command", "echo", "4"],
    ["sh", "-c", "if true; then echo 4; fi"],
    ["TODO"],
    ["exit", "0"],
)
for at, argv in enumerate(CONSTANT):
    case("E8.b%02d" % at, "an axis on the constant %s" % argv, constant_axis(argv), "vacuous")

    def constant_claim(made, argv=argv):
        shown = bracketed(made, probe(argv, expect=["value=4"]))
        made.verified(OPEN, "new", "statement", [shown], [AXIS])

    def constant_flag(made, argv=argv):
        made.flag(OPEN, "new", "statement", probe(argv, expect=["value=4"]))

    case("E14.b%02d" % at, "a claim on the constant %s" % argv, constant_claim, "vacuous")
    case("E14.c%02d" % at, "a flag with the constant step %s" % argv, constant_flag, "vacuous")
SCRIPTS = (
    "true",
    ":",
    "exit 0",
    "echo 4",
    "true; echo 4",
    "A=1 echo 4",
    "! false",
    "(echo 4)",
    "{ echo 4; }",
    "if true; then echo 4; fi",
    "true && echo 4 || echo 5",
    "echo 4 | cat",
    "# nothing",
    "'echo' 4",
    'e"c"ho 4',
    "ec\\ho 4",
    "echo 4\ntrue",
    "while false; do :; done",
)
for at, script in enumerate(SCRIPTS):
    case(
        "E8.c%02d" % at,
        "an axis on the constant script %r" % script,
        constant_axis([script], True),
        "vacuous",
    )
COMPARATORS = {
    "exact": False,
    "one-of=5,6": True,
    "semver=>=5": True,
    "semver=^5.0": True,
    "present": False,
}
for at, (comparator, bad) in enumerate(COMPARATORS.items()):

    def compared(made, comparator=comparator):
        shown = made.receipt(OPEN, AXIS_PROBE, "4")
        made.axis(OPEN, "new", shown, comparator)

    if bad:
        case(
            "E8.d%d" % at,
            "an axis whose own value does not satisfy %s" % comparator,
            compared,
            "comparator",
        )
    else:
        lawful("E8.d%d" % at, "an axis whose own value satisfies %s" % comparator, compared)
for at, comparator in enumerate(
    (
        "",
        "Exact",
        "semver=",
        "one-of=",
        "one-of=a,a",
        "regex=.*",
        "exact ",
        "semver=5",
        "one-of=a,",
        "any",
    )
):
    TABLE.forged(
        "E8.e%d" % at,
        "comparator %r" % comparator,
        lambda made, comparator=comparator: (
            (made.axis(OPEN, "new", MARK["second_receipt"], comparator)) and None
        ),
        tampered("ENCODING", at=COUNT),
    )


def redacted_axis(made):
    shown = made.receipt(
        OPEN,
        probe(["cat", "s.txt"], redact=True),
        None,
        redacted={"commitment": "1" * 64, "salt_digest": "2" * 64},
    )
    made.axis(OPEN, "secret", shown, "present")


case("E8.f", "a redacted axis that is not compared exactly", redacted_axis, "redacted_comparator")


# --- E9: nothing but an exit code ---
def exit_code_only(made):
    own = probe(["./check.sh"])
    shown = bracketed(made, own, "")
    made.verified(OPEN, "new", "statement", [shown], [AXIS])


case("E9.a", "a claim on an exit code alone", exit_code_only, "no_expectation")


def empty_meets(made):
    own = probe(["./check.sh"], expect=["value="])
    shown = bracketed(made, own, "", expectations=[{"met": True, "met_by_empty": True}])
    made.verified(OPEN, "new", "statement", [shown], [AXIS])


case("E9.b", "a claim whose expectation empty output meets", empty_meets, "no_expectation")


def empty_denied(made):
    made.receipt(
        OPEN,
        probe(["./check.sh"], expect=["value="]),
        "",
        expectations=[{"met": True, "met_by_empty": False}],
    )


case(
    "E9.c", "a receipt that denies that empty output meets `value=`", empty_denied, "receipt_shape"
)
case(
    "E9.d",
    "a flag that denies that `exit=0` is met by anything",
    lambda made: made.flag(
        OPEN,
        "new",
        "statement",
        probe(["./c.sh"], expect=["value=4", "exit=0"]),
        met_by_empty=[False, False],
    ),
    "receipt_shape",
)
case(
    "E9.e",
    "a flag whose step shows an exit code alone",
    lambda made: made.flag(OPEN, "new", "statement", probe(["./c.sh"], expect=["exit=0"])),
    "vacuous",
)


# --- E10: the same name, two values ---
def two_values(world):
    made = forger.Ledger(name="twice")
    made.authorize(forger.ALICE, "alice")
    session = made.open(forger.ALICE, "a")
    axes = []
    for value in ("4", "5"):
        seen = made.receipt(session, AXIS_PROBE, value)
        axes.append(made.axis(session, "version", seen))
        own = probe(["cat", value], expect=["value=4"])
        shown = made.proof(session, own, AXIS_PROBE, axis_value=value)
        made.verified(session, "with-" + value, "statement " + value, [shown], [axes[-1]])
    made.save(world.file)
    accepted(world, world.file, made.count)
    told = state(world, made.count - 1, session)
    demand(not admissible(told, "with-4") and admissible(told, "with-5"), "judged by name", told)


TABLE.add("E10", "an axis recorded twice: each support by its own record", two_values)

# --- E11: derivation ---
for at, (what, source) in enumerate(
    (
        ("an unknown claim", "nobody"),
        ("itself", "new"),
        ("a retracted claim", "claim-0"),
        ("an open flag", "pending-two"),
        ("a withdrawn flag", "withdrawn"),
    )
):

    def derived(made, source=source):
        shown = bracketed(made, PROOF)
        made.verified(OPEN, "new", "statement", [shown], [AXIS], **{"from": [source]})

    case("E11.%s" % "abcde"[at], "derived from " + what, derived, "from_not_admissible")


def circle(world):
    """Two claims that derive from each other stand only as long as one of them stands alone."""
    made = forger.Ledger(name="circle")
    made.authorize(forger.ALICE, "alice")
    session = made.open(forger.ALICE, "a")
    axis = made.axis(session, "version", made.receipt(session, AXIS_PROBE))

    def verified(claim, **members):
        own = probe(["cat", claim, str(made.count)], expect=["value=4"])
        shown = made.proof(session, own, AXIS_PROBE)
        return made.verified(session, claim, "statement " + claim, [shown], [axis], **members)

    verified("one")
    verified("two", **{"from": ["one"]})
    verified("one", **{"from": ["two"]})
    both = made.count - 1
    made.receipt(session, AXIS_PROBE, "5")
    made.save(world.file)
    accepted(world, world.file, made.count)
    told = state(world, both, session)
    demand(admissible(told, "one") and admissible(told, "two"), "not admissible", told)
    told = state(world, made.count - 1, session)
    demand(not admissible(told, "one") and not admissible(told, "two"), "it holds itself up", told)


TABLE.add("E11.f", "a circle supports nothing", circle)


def longer_circle(world):
    """Independent supports that cite each other in a ring, after the one that began it fell."""
    made = forger.Ledger(name="ring")
    made.authorize(forger.ALICE, "alice")
    session = made.open(forger.ALICE, "a")
    names = ["ring-%d" % number for number in range(8)]

    def verified(claim, source):
        own = probe(["cat", claim, str(made.count)], expect=["value=4"])
        shown = made.receipt(session, own)
        made.verified(
            session,
            claim,
            "statement " + claim,
            [shown],
            [],
            independent="by design",
            **{"from": source},
        )

    verified("start", [])
    before = "start"
    for name in names:
        verified(name, [before])
        before = name
    verified(names[0], [names[-1]])
    made.within(session, "claim.retracted", {"claims": ["start"], "reason": "wrong"})
    made.save(world.file)
    accepted(world, world.file, made.count)
    told = state(world, made.count - 1, session)
    demand(not any(admissible(told, name) for name in names), "the ring holds itself up", told)


TABLE.add("E11.g", "a ring of eight, its beginning retracted", longer_circle)


# --- E12: promotions in the wrong state ---
def promotion(claim, flag):
    def forge(made):
        shown = bracketed(made, FAILING)
        made.promoted(OPEN, claim, MARK.get(flag, flag), shown, [AXIS])

    return forge


case(
    "E12.a",
    "promotion of a withdrawn flag",
    lambda made: made.promoted(
        OPEN,
        "withdrawn",
        MARK["withdrawn"],
        bracketed(made, probe(["cat", "w.txt"], expect=["value=4"])),
        [AXIS],
    ),
    "flag_not_open",
)
case(
    "E12.b", "promotion of another id by the flag", promotion("claim", "flag_two"), "flag_statement"
)
case(
    "E12.c",
    "promotion of an unknown id by the flag",
    promotion("nobody", "flag_two"),
    "flag_statement",
)
case(
    "E12.d",
    "promotion without the axes that the flag names",
    lambda made: (
        made.flag(
            OPEN,
            "new",
            "statement",
            PROOF,
            needs=[
                {"axis": "version", "comparator": "exact", "probe_digest": probe_digest(AXIS_PROBE)}
            ],
        ),
        made.promoted(OPEN, "new", made.count - 1, made.receipt(OPEN, PROOF), [], independent="so"),
    ),
    "independence_not_flagged",
    "flag_needs_missing",
)
case(
    "E12.e",
    "an independent promotion of a flag that is not",
    lambda made: made.promoted(
        OPEN, "pending-two", MARK["flag_two"], made.receipt(OPEN, FAILING), [], independent="so"
    ),
    "independence_not_flagged",
)
case(
    "E12.f",
    "a refusal that says the probe failed, when it did not",
    lambda made: made.within(
        OPEN,
        "claim.promotion_refused",
        {
            "claim": "pending-two",
            "flag": MARK["flag_two"],
            "receipt": made.receipt(OPEN, FAILING),
            "why": "probe_failed",
        },
    ),
    "promotion_refused_why",
)
case(
    "E12.g",
    "a refusal that hides that the probe failed",
    lambda made: made.within(
        OPEN,
        "claim.promotion_refused",
        {
            "claim": "pending-two",
            "flag": MARK["flag_two"],
            "receipt": MARK["failed"],
            "why": "axis_not_held",
        },
    ),
    "promotion_refused_why",
)


def four_eyes(made_policy):
    def judge(world):
        made = forger.Ledger(name="eyes", policy={"four_eyes": made_policy})
        made.authorize(forger.ALICE, "alice")
        session = made.open(forger.ALICE, "a")
        axis = made.axis(session, "version", made.receipt(session, AXIS_PROBE))
        flag = made.flag(session, "mine", "statement", STEP)
        shown = made.proof(session, STEP, AXIS_PROBE)
        made.promoted(session, "mine", flag, shown, [axis])
        made.save(world.file)
        told = world.verify(world.file)
        hold(
            told, unlawful("four_eyes", at=made.count - 1) if made_policy else Expect({"verified"})
        )

    return judge


TABLE.add("E12.h", "under four-eyes, the key that flagged promotes", four_eyes(True))
TABLE.add("E12.i", "without it, the same is lawful", four_eyes(False))

# --- E13: verified while only flagged ---
case(
    "E13.a",
    "a claim verified while its flag is open",
    lambda made: made.verified(
        OPEN, "pending-two", "another step would", [bracketed(made, PROOF)], [AXIS]
    ),
    "open_flag",
)
case(
    "E13.b",
    "the flagged statement verified under another id",
    lambda made: made.verified(OPEN, "new", "another step would", [bracketed(made, PROOF)], [AXIS]),
    "open_flag",
)
case(
    "E13.c",
    "the flag of another session withdrawn",
    lambda made: made.within(
        OPEN,
        "claim.discarded",
        {
            "claim": "pending-two",
            "flag": MARK["flag_two"],
            "reason": "r",
            "statement": "another step would",
            "why": "withdrawn",
        },
    ),
    "flag_owner",
)
case(
    "E13.d",
    "the flag of another session flagged again",
    lambda made: made.flag(OPEN, "pending-two", "another step would", PROOF),
    "open_flag",
)
case(
    "E13.e",
    "its statement flagged under another id",
    lambda made: made.flag(OPEN, "new", "another step would", PROOF),
    "open_flag",
)
case(
    "E13.f",
    "a flag of a claim that is admissible",
    lambda made: made.flag(OPEN, "claim", "it is four", PROOF),
    "already_admissible",
)
case(
    "E13.g",
    "a flag of an admissible statement under another id",
    lambda made: made.flag(OPEN, "new", "it is four", PROOF),
    "already_admissible",
)
case(
    "E13.h",
    "a directive about another claim",
    lambda made: made.flag(
        OPEN,
        "new",
        "statement",
        PROOF,
        directive={"do_not_act_on": "other", "until_probe": probe_digest(PROOF)},
    ),
    "directive",
)
case(
    "E13.i",
    "a directive until another probe",
    lambda made: made.flag(
        OPEN,
        "new",
        "statement",
        PROOF,
        directive={"do_not_act_on": "new", "until_probe": probe_digest(STEP)},
    ),
    "directive",
)
for at, blank in enumerate(("", " ", "\t\n\r\f\u000b")):
    case(
        "E13.j%d" % at,
        "a flag with the derivation %r" % blank,
        lambda made, blank=blank: made.flag(OPEN, "new", "statement", PROOF, derivation=blank),
        "no_derivation",
    )

# --- E14: steps that are none, on the command line ---
STEPS = (
    [],
    ["--", "true"],
    ["--", ":"],
    ["--", "exit", "0"],
    ["--", " "],
    ["--", "TODO"],
    ["--", "echo", "ok"],
    ["--shell", "--", "true; exit 0"],
    ["--shell", "--", ""],
    ["--", "sh", "-c", "exit 0"],
    ["--", "FIXME"],
    ["--", "..."],
    ["--", "# later"],
    ["--shell", "--", "   "],
    ["--", "test", "1", "=", "1"],
    ["--expect", "value=ok", "--", "echo", "ok"],
    ["--expect", "exit=0", "--", "./x.sh"],
    ["--", "./x.sh"],
)
for at, step in enumerate(STEPS):

    def flagged(world, step=step):
        """Nothing provisional comes of it: discarded with exit 1, or no event at all."""
        world.ok("init")
        world.ok("session", "open", "--agent", "a")
        ran = world.json("flag", "new", "statement", "--because", "so", *step)
        demand(ran.code in (1, 2), "it was flagged", ran)
        told = world.ok("state")
        found = [one for one in told["claims"] if one["claim"] == "new"]
        demand(
            all(one["state"] == "discarded" and not one["admissible"] for one in found),
            "it is provisional",
            told,
        )
        if ran.code == 1:
            demand(found, "nothing was recorded", told)

    TABLE.add("E14.a%02d" % at, "flag with the step %s" % step, flagged)

# --- E15: seals ---
COUNTS = "ambient axes claims discards flags promotions receipts retractions".split()


def ready(made):
    session = made.open(forger.BOB, "third", [SEALED])
    seen = made.receipt(session, AXIS_PROBE)
    axis = made.axis(session, "mine", seen)
    made.reverified(session, [{"axis": AXIS, "receipt": seen}])
    shown = made.proof(session, PROOF, AXIS_PROBE)
    made.verified(session, "new", "statement", [shown], [axis])
    made.ambient(session)
    return session


lawful("E15.control", "the same seal, whole", lambda made: made.seal(ready(made)))
for at, name in enumerate(COUNTS):
    for sign, step in (("less", -1), ("more", 1)):

        def miscounted(made, name=name, step=step):
            session = ready(made)
            copy = made.copy()
            counts = dict(copy.events[copy.seal(session)]["body"]["counts"])
            counts[name] += step
            if counts[name] < 0:
                counts[name] = 7
            made.seal(session, counts=counts)

        case(
            "E15.a%d%s" % (at, sign),
            "a seal that counts %s %s" % (sign, name),
            miscounted,
            "boundary",
        )


def without(kind):
    def forge(made):
        session = ready(made)
        left_out = [
            seq
            for seq, event in enumerate(made.events)
            if event["session"] == session and event["kind"] == kind
        ][:1]
        made.seal(session, refused=left_out)

    return forge


for at, kind in enumerate(
    ("axis.recorded", "claim.verified", "probe.receipt", "boundary.reverified", "ambient.declared")
):
    case("E15.b%d" % at, "a seal whose digest leaves out the %s" % kind, without(kind), "boundary")
case(
    "E15.c",
    "a seal with the digest of zeroes",
    lambda made: made.seal(ready(made), boundary_digest="0" * 64),
    "boundary",
)
case(
    "E15.d",
    "a seal with the digest of another session's",
    lambda made: made.seal(
        ready(made), boundary_digest=FULL.events[MARK["seal"]]["body"]["boundary_digest"]
    ),
    "boundary",
)
case(
    "E15.e",
    "a seal with no ambient declaration",
    lambda made: made.seal(OPEN),
    "ambient_undeclared",
)


def nothing(made):
    session = made.open(forger.BOB, "third")
    made.ambient(session)
    made.seal(session)


case("E15.f", "a seal of nothing", nothing, "nothing_to_seal")
case(
    "E15.g",
    "an ambient entry for an axis that a claim of the session needs",
    lambda made: (
        made.verified(OPEN, "new", "statement", [bracketed(made, PROOF)], [AXIS]),
        made.ambient(OPEN, [{"name": "version", "observed": [], "reason": "r"}]),
    ),
    "ambient_load_bearing",
)


def ambient_need(made):
    axis = made.axis(OPEN, "season", MARK["second_receipt"])
    made.ambient(OPEN, [{"name": "season", "observed": [], "reason": "r"}])
    made.verified(OPEN, "new", "statement", [bracketed(made, PROOF)], [axis])


case("E15.h", "a claim that needs an axis its session lets drift", ambient_need, "axis_ambient")
case(
    "E15.i",
    "a claim with neither needs nor a reason",
    lambda made: made.verified(OPEN, "new", "statement", [bracketed(made, PROOF)], []),
    "needs_missing",
)
case(
    "E15.j",
    "a claim with both",
    lambda made: made.verified(
        OPEN, "new", "statement", [bracketed(made, PROOF)], [AXIS], independent="so"
    ),
    "needs_contradict",
)


def stranger_axis(made):
    other = made.open(forger.ALICE, "x")
    axis = made.axis(other, "theirs", made.receipt(other, AXIS_PROBE))
    made.verified(OPEN, "new", "statement", [bracketed(made, PROOF)], [axis])


case(
    "E15.k",
    "a claim that needs an axis of a session outside the lineage",
    stranger_axis,
    "axis_not_in_lineage",
)

# --- E16: after the end ---
ENDED = {
    "a receipt": lambda made: made.receipt(SEALED, AXIS_PROBE),
    "an axis": lambda made: made.axis(SEALED, "new", MARK["axis_receipt"]),
    "a claim": lambda made: made.verified(SEALED, "new", "statement", [MARK["proof"]], [AXIS]),
    "a flag": lambda made: made.flag(SEALED, "new", "statement", PROOF),
    "a retraction": lambda made: made.within(
        SEALED, "claim.retracted", {"claims": ["claim"], "reason": "r"}
    ),
    "an ambient declaration": lambda made: made.ambient(SEALED),
    "a reverification": lambda made: made.reverified(SEALED),
    "a second seal": lambda made: made.seal(SEALED),
    "a gate": lambda made: made.within(
        SEALED, "action.gated", {"argv": ["x"], "claims": ["claim"], "decision": "allowed"}
    ),
    "a withdrawal": lambda made: made.within(
        SEALED,
        "claim.discarded",
        {
            "claim": "pending-two",
            "flag": MARK["flag_two"],
            "reason": "r",
            "statement": "another step would",
            "why": "withdrawn",
        },
    ),
    "its abandonment": lambda made: made.add(
        "session.abandoned", {"reason": "r", "session": SEALED}, forger.ALICE
    ),
    "its abandonment by the root": lambda made: made.add(
        "session.abandoned", {"reason": "r", "session": SEALED}
    ),
}
for at, (what, forge) in enumerate(ENDED.items()):
    case("E16.a%02d" % at, what + " in a sealed session", forge, "session_ended")
case(
    "E16.b",
    "a receipt in an abandoned session of a key since revoked",
    lambda made: made.receipt(MARK["gone"], AXIS_PROBE),
    "key_revoked",
)
case(
    "E16.c",
    "the abandoned session abandoned again",
    lambda made: made.add("session.abandoned", {"reason": "r", "session": MARK["gone"]}),
    "session_ended",
)
for at, (what, session) in enumerate(
    (
        ("a session that is none", 1),
        ("a later seq", COUNT + 5),
        ("itself", COUNT),
        ("the highest seq", 2**53 - 1),
    )
):
    case(
        "E16.d%d" % at,
        "a receipt in " + what,
        lambda made, session=session: made.add(
            "probe.receipt", forger.receipt(AXIS_PROBE), forger.BOB, session
        ),
        "session_unknown",
    )
    case(
        "E16.e%d" % at,
        "a seal of " + what,
        lambda made, session=session: made.add(
            "session.sealed", made.events[MARK["seal"]]["body"], forger.BOB, session
        ),
        "session_unknown",
    )
case(
    "E16.f",
    "a receipt in no session",
    lambda made: made.add("probe.receipt", forger.receipt(AXIS_PROBE), forger.BOB, 0),
    "session",
)
case(
    "E16.g",
    "a session opened in a session",
    lambda made: made.add(
        "session.opened", {"agent": "x", "inherits": [], "scope": SCOPE}, forger.BOB, OPEN
    ),
    "session",
)
case(
    "E16.h",
    "a key authorised in a session",
    lambda made: made.add(
        "key.authorized",
        {"key": forger.Key(9).public, "label": "n", "roles": ["recorder"]},
        None,
        OPEN,
    ),
    "session",
    "session_key",
)
case(
    "E16.i", "a seal by another key", lambda made: made.seal(OPEN, key=forger.ALICE), "session_key"
)
case("E16.j", "a seal by the root", lambda made: made.seal(OPEN, key=forger.ROOT), "session_key")
case(
    "E16.k",
    "an action finished twice",
    lambda made: made.within(
        OPEN, "action.finished", {"gate": MARK["gate"], "outcome": {"end": "exited", "exit": 0}}
    ),
    "gate_finished",
)
case(
    "E16.l",
    "an action finished by another session",
    lambda made: (
        made.open(forger.ALICE, "x"),
        made.within(
            made.count - 1,
            "action.finished",
            {"gate": MARK["gate"], "outcome": {"end": "exited", "exit": 0}},
        ),
    ),
    "dangling_reference",
)

# --- E17: gates ---
for at, (what, claims, decision) in enumerate(
    (
        ("allowed, an unknown claim", ["nobody"], "allowed"),
        ("allowed, a provisional claim", ["pending-two"], "allowed"),
        ("allowed, a retracted claim", ["claim-0"], "allowed"),
        ("allowed, one of two unknown", ["claim", "nobody"], "allowed"),
        ("refused, an admissible claim", ["claim"], "refused"),
    )
):
    case(
        "E17.%s" % "abcde"[at],
        "a gate: " + what,
        lambda made, claims=claims, decision=decision: made.within(
            OPEN, "action.gated", {"argv": ["x"], "claims": claims, "decision": decision}
        ),
        "gate_decision",
    )

# --- E18: another text for an id ---
for at, text in enumerate(
    (
        "it is five",
        "It is four",
        "it is four ",
        "it is  four",
        "it is four\u200b",
        "it is f\u043eur",
    )
):
    case(
        "E18.a%d" % at,
        "`claim` verified as %r" % text,
        lambda made, text=text: made.verified(
            OPEN, "claim", text, [bracketed(made, PROOF)], [AXIS]
        ),
        "statement_changed",
    )
    case(
        "E18.b%d" % at,
        "`claim` flagged as %r" % text,
        lambda made, text=text: made.flag(OPEN, "claim", text, PROOF),
        "statement_changed",
    )
for at, name in enumerate(
    ("Claim", "claim ", "cl\u0430im", "", "-claim", "claim\n", "a" * 65, "claim\u0000", "cla im")
):
    TABLE.forged(
        "E18.c%d" % at,
        "a claim called %r" % name[:12],
        lambda made, name=name: (
            (made.verified(OPEN, name, "statement", [MARK["step"]], [AXIS])) and None
        ),
        tampered("ENCODING", at=COUNT),
    )


# --- E19: what was kept is not what was seen ---
def kept(length=None, data=None):
    def judge(world):
        made = ledger()
        printed = b"what was printed\n"
        salt = b"another 16 bytes"
        seen = forger.commitment(printed, salt)
        if length is not None:
            seen = dict(seen, length=length)
        stream = {"kept": seen, "whole": seen}
        made.receipt(OPEN, AXIS_PROBE, outputs={"stderr": stream, "stdout": stream})
        made.captures = made.captures + [
            (bytes.fromhex(seen["commitment"]), salt, printed if data is None else data)
        ]
        made.save(world.file)
        told = world.verify(world.file)
        good = length is None and data is None
        hold(told, Expect({"verified"}) if good else tampered("CAPTURE", events=made.count))

    return judge


TABLE.add("E19.control", "a capture that is what was committed to", kept())
for at, length in enumerate((0, 16, 18, 2**53 - 2)):
    TABLE.add("E19.a%d" % at, "a receipt whose length is %d" % length, kept(length))
for at, data in enumerate(
    (b"", b"what was printed", b"what was printed\n\0", b"What was printed\n", b"x" * 60000)
):
    TABLE.add("E19.b%d" % at, "captured bytes %r" % data[:20], kept(None, data))

# --- E20: receipts that contradict themselves ---
CHECK = probe(check="os")
MALFORMED = {
    "duration -1": {"duration_ms": -1},
    "duration 2^53-1": {"duration_ms": 2**53 - 1},
    "exit 256": {"outcome": {"end": "exited", "exit": 256}},
    "exit -1": {"outcome": {"end": "exited", "exit": -1}},
    "exit missing": {"outcome": {"end": "exited"}},
    "signal 0": {"outcome": {"end": "signaled", "signal": 0}},
    "signal 65": {"outcome": {"end": "signaled", "signal": 65}},
    "signal missing": {"outcome": {"end": "signaled"}},
    "exit and signal": {"outcome": {"end": "exited", "exit": 0, "signal": 9}},
    "timed out with an exit": {"outcome": {"end": "timed_out", "exit": 0}},
    "an unknown end": {"outcome": {"end": "fine"}},
    "no outputs": {"outputs": None},
    "an expectation too few": {"expectations": []},
    "an expectation too many": {"expectations": UNMET * 2},
    "a value and extracted false": {"extracted": False},
    "a value of 4,097 bytes": {"value": "a" * 4097},
    "redacted without redact": {"redacted": {"commitment": "1" * 64, "salt_digest": "2" * 64}},
    "a text for a flag": {"pipe_held": "no"},
    "a negative length": {
        "outputs": {
            "stderr": forger.STREAM,
            "stdout": {"kept": dict(forger.OUTPUT, length=-1), "whole": forger.OUTPUT},
        }
    },
    "one stream": {"outputs": {"stdout": forger.STREAM}},
}
for at, (what, members) in enumerate(MALFORMED.items()):
    TABLE.forged(
        "E20.a%02d" % at,
        "a receipt with " + what,
        lambda made, members=members: (
            (made.receipt(OPEN, FAILING, **dict({"value": "4"}, **members))) and None
        ),
        tampered("ENCODING", at=COUNT),
    )
SHAPES = {
    "met, and the value is another": (FAILING, {"value": "5"}),
    "unmet, and the value is it": (FAILING, {"expectations": UNMET}),
    "met by empty, which it is not": (
        FAILING,
        {"expectations": [{"met": True, "met_by_empty": True}]},
    ),
    "no value, and extracted": (FAILING, {"value": None}),
    "extracted, and timed out": (FAILING, {"outcome": {"end": "timed_out"}}),
    "met, and timed out": (
        FAILING,
        {"outcome": {"end": "timed_out"}, "extracted": False, "value": None},
    ),
    "met, and never found": (
        FAILING,
        {"outcome": {"end": "not_found"}, "extracted": False, "value": None, "outputs": None},
    ),
    "a command that was checked": (FAILING, {"outcome": {"end": "checked"}}),
    "a command that failed natively": (
        FAILING,
        {"outcome": {"end": "failed"}, "extracted": False, "value": None, "expectations": UNMET},
    ),
    "a check that exited": (CHECK, {"outcome": {"end": "exited", "exit": 0}}),
    "a check that was signaled": (
        CHECK,
        {"outcome": {"end": "signaled", "signal": 9}, "extracted": False, "value": None},
    ),
    "a check with an executable": (CHECK, {"executable": {"digest": "0" * 64, "path": "/x"}}),
    "exit=3 met by exit 0": (probe(["./c.sh"], expect=["exit=3"]), {}),
    "semver met by another": (probe(["./c.sh"], expect=["semver=>=5"]), {"value": "4.9"}),
    "semver unmet by it": (
        probe(["./c.sh"], expect=["semver=>=5"]),
        {"value": "5.0", "expectations": UNMET},
    ),
    "a value under `none`": (probe(["./c.sh"], extract="none"), {"value": "4"}),
    "compared, and not redacted": (AXIS_PROBE, {"compared": [{"axis": AXIS, "result": "same"}]}),
}
for at, (what, (made_probe, members)) in enumerate(SHAPES.items()):
    value = members.get("value", None if made_probe["extract"] == "none" else "4")
    body = dict(members)
    if "value" not in body:
        body["value"] = value
    if "a value under" in what:

        def shaped(made, made_probe=made_probe):
            full = forger.receipt(made_probe, None)
            full["value"] = "4"
            made.within(OPEN, "probe.receipt", full)
    else:

        def shaped(made, made_probe=made_probe, body=body):
            made.receipt(OPEN, made_probe, **body)

    case("E20.b%02d" % at, "a receipt: " + what, shaped, "receipt_shape")
lawful(
    "E20.c",
    "a duration beyond the timeout is a slow machine, and no contradiction",
    lambda made: made.receipt(OPEN, FAILING, duration_ms=2**40),
)
PROBES = {
    "no argv": {"argv": []},
    "an empty program": {"argv": [""]},
    "NUL": {"argv": ["a\u0000b"]},
    "argv and check": {"check": "os"},
    "a script of two": {"argv": ["a", "b"], "shell": True},
    "257 items": {"argv": ["a"] * 257},
    "an item of 4,097": {"argv": ["a" * 4097]},
    "cwd ..": {"cwd": ".."},
    "cwd a/../b": {"cwd": "a/../b"},
    "cwd a//b": {"cwd": "a//b"},
    "cwd empty": {"cwd": ""},
    "cwd ./a": {"cwd": "./a"},
    "cwd /a/": {"cwd": "/a/"},
    "env PATH": {"env": ["PATH"]},
    "env out of order": {"env": ["B", "A"]},
    "env twice": {"env": ["A", "A"]},
    "env A=B": {"env": ["A=B"]},
    "timeout 0": {"timeout_ms": 0},
    "timeout 3600001": {"timeout_ms": 3600001},
    "timeout -1": {"timeout_ms": -1},
    "extract unknown": {"extract": "xpath:/"},
    "extract line:0": {"extract": "line:0"},
    "extract regex:": {"extract": "regex:"},
    "expect unknown": {"expect": ["stdin~a"]},
    "expect exit=256": {"expect": ["exit=256"]},
    "expect two exits": {"expect": ["exit=0", "exit=1"]},
    "expect exit=01": {"expect": ["exit=01"]},
    "33 expectations": {"expect": ["stdout~a"] * 33},
}
for at, (what, members) in enumerate(PROBES.items()):

    def bad_probe(made, members=members):
        broken = dict(probe(["./c.sh"]), **members)
        made.receipt(OPEN, broken, "4")

    TABLE.forged(
        "E20.d%02d" % at,
        "a receipt of a probe with " + what,
        lambda made, forge=bad_probe: forge(made),
        tampered("ENCODING", at=COUNT),
    )
CHECKS = (
    "tcp=host",
    "tcp=host:0",
    "tcp=host:65536",
    "tcp=[::1]",
    "tcp=ho st:1",
    "http=ftp://x/",
    "http=http://u@h/",
    "http=http:///",
    "http=http://h/#f",
    "env=",
    "env=1A",
    "file-sha256=",
    "schema=a",
    "schema=a,b,c",
    "unknown",
    "",
    "OS",
    "os ",
)
for at, check in enumerate(CHECKS):
    TABLE.forged(
        "E20.e%02d" % at,
        "a receipt of the check %r" % check,
        lambda made, check=check: (made.receipt(OPEN, probe(check=check), "reachable")) and None,
        tampered("ENCODING", at=COUNT),
    )


# --- E21: what else is refused ---
case(
    "E21.a",
    "a retraction of a claim nobody spoke of",
    lambda made: made.within(OPEN, "claim.retracted", {"claims": ["nobody"], "reason": "r"}),
    "claim_unknown",
)
case(
    "E21.b",
    "an acknowledgement of itself",
    lambda made: made.add("event.acknowledged", {"reason": "r", "up_to": made.count}),
    "acknowledges_ahead",
)
case(
    "E21.c",
    "an acknowledgement of what is to come",
    lambda made: made.add("event.acknowledged", {"reason": "r", "up_to": 2**53 - 1}),
    "acknowledges_ahead",
)
case(
    "E21.d",
    "a flag that names a known axis without its probe",
    lambda made: made.flag(OPEN, "new", "statement", PROOF, needs=[{"axis": "version"}]),
    "flag_needs",
)
case(
    "E21.e",
    "a flag that names an unknown axis with a probe",
    lambda made: made.flag(
        OPEN,
        "new",
        "statement",
        PROOF,
        needs=[{"axis": "nobody", "comparator": "exact", "probe_digest": probe_digest(AXIS_PROBE)}],
    ),
    "flag_needs",
)


def void_axis(made):
    made.revoke(forger.ALICE, compromised_since=MARK["axis"])
    made.verified(OPEN, "new", "statement", [bracketed(made, PROOF)], [AXIS])


case("E21.f", "a claim that needs an axis of a compromised key", void_axis, "void")


# --- E22: the state at an event and at the head ---
def retracted_after(world):
    made = ledger()
    before = made.count - 1
    made.within(OPEN, "claim.retracted", {"claims": ["claim"], "reason": "it was wrong"})
    shown = bracketed(made, PROOF)
    between = made.count - 1
    made.verified(OPEN, "claim", "it is four", [shown], [AXIS])
    again = made.count - 1
    made.receipt(OPEN, AXIS_PROBE, "5")
    made.save(world.file)
    accepted(world, world.file, made.count)
    for seq, expected in (
        (MARK["open"], False),
        (MARK["reverified"], True),
        (before, True),
        (before + 1, False),
        (between, False),
        (again, True),
        (again + 1, False),
    ):
        told = state(world, seq, OPEN)
        demand(told["at"]["seq"] == seq, "another seq", told)
        demand(told["at"]["hash"] == forger.leaf(made.records[seq]), "another leaf", told)
        demand(
            admissible(told, "claim") == expected,
            "at %d admissible is not %s" % (seq, expected),
            told,
        )


TABLE.add(
    "E22", "a claim retracted, verified anew, and its axis drifted: at every seq", retracted_after
)


# --- E23: the same state, however it is come by ---
def prefixes(world):
    """The state at n of the whole is that of a file cut after n, and the same twice."""
    made = ledger()
    made.save(world.file)
    chosen = (
        range(5, COUNT)
        if world.long
        else (5, 50, MARK["seal"], MARK["reverified"], MARK["promoted"], COUNT - 1)
    )
    for seq in chosen:
        session = OPEN if seq >= OPEN else SEALED
        told = state(world, seq, session)
        demand(state(world, seq, session) == told, "another state the second time", seq)
        whole = world.file
        world.file = world.evidence / ("cut-%d.db" % seq)
        ledger().truncate(seq + 1).save(world.file)
        # Another machine, which does not know that it was ever longer.
        cut = state(world, seq, session, env={"HOME": str(world.made("home-%d" % seq))})
        world.file.unlink()
        world.file = whole
        for document in (told, cut):
            document.pop("basis", None)
            document.pop("integrity", None)
        demand(
            cut == told,
            "another state in the file cut there",
            json.dumps(cut)[:300],
            json.dumps(told)[:300],
        )


TABLE.add("E23", "the state at n, from the whole and from the prefix", prefixes)

# --- E24: states that are handed in ---
for at, kind in enumerate(
    ("ledger.snapshot", "state.cached", "session.state", "claim.admissible", "boundary.record")
):
    case(
        "E24.%s" % "abcde"[at],
        "an event of kind %s" % kind,
        lambda made, kind=kind: made.add(
            kind, {"claims": {"nobody": "verified_invariant"}}, forger.BOB
        ),
        "kind_not_allowed",
    )


@TABLE.case("E25", "a refused event that the root acknowledged: verified, and still told")
def acknowledged(world):
    made = ledger()
    made.verified(OPEN, "new", "statement", [10**6], [AXIS])
    made.add("event.acknowledged", {"reason": "known", "up_to": made.count - 1})
    made.save(world.file)
    told = accepted(world, world.file, made.count)
    refused = told.document["refused"]
    demand(
        [(one["seq"], one["acknowledged"]) for one in refused] == [(COUNT, True)],
        "it is not told",
        refused,
    )


@TABLE.case("E26", "an upgrade beyond what is known: undetermined, nothing admissible")
def upgraded(world):
    made = ledger()
    made.add("ledger.upgraded", {"rules": 2, "v": 2})
    made.add("x.future", {"a": 1}, forger.BOB, v=2)
    made.save(world.file)
    told = world.verify(world.file)
    demand(told.document["result"] == "undetermined" and told.code == 3, "judged", told)
    told = world.json(
        "--trust", forger.ROOT.public, "--ledger", world.file, "--session", OPEN, "can", "claim"
    )
    demand(told.code != 0, "a claim may be acted on", told)
