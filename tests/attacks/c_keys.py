"""C: signatures, keys and roles."""

import base64
import hashlib
import json
import os
import pathlib

import forger
from harness import (
    Table,
    accepted,
    classes,
    demand,
    hold,
    ledger,
    says,
    snapshot,
    tampered,
    unlawful,
)

TABLE = Table("C")
FULL = ledger()
COUNT = FULL.count
ORDER = forger.ORDER
SIGNATURE = tampered("SIG", at=COUNT)


def number(data):
    return int.from_bytes(data, "little")


def last_signed(change, key=forger.BOB):
    """A lawful event at the end, its signature changed by `change(signature, event bytes)`."""

    def forge(made):
        event = made.event(
            "session.opened", {"agent": "x", "inherits": [], "scope": forger.SCOPE}, key
        )
        data = forger.canonical(event)
        made.put(event, data, change(key.sign(data), data), key)

    return forge


def chained(change):
    """The signature of 100 changed, and everything after it chained and signed anew."""

    def forge(made):
        event, key = made.events[100], made.signers[100]
        after, signers = made.events[101:], made.signers[101:]
        data = made.records[100][64:]
        made.truncate(100)
        made.put(event, data, change(key.sign(data), data), key)
        for event, key in zip(after, signers):
            event = dict(event, prev=made.prev)
            data = forger.canonical(event)
            made.put(event, data, key.sign(data), key)

    return forge


def with_s(value):
    return lambda sig, data: sig[:32] + value(number(sig[32:])).to_bytes(32, "little")


def with_r(value):
    return lambda sig, data: value(sig[:32]) + sig[32:]


# --- C1, C2: other spellings of a signature ---
SCALARS = {
    "S + L": lambda s: s + ORDER,
    "S + 2L": lambda s: s + 2 * ORDER,
    "S = 0": lambda s: 0,
    "S = L": lambda s: ORDER,
    "S = L - 1": lambda s: ORDER - 1,
    "S = L - S": lambda s: ORDER - s,
    "S = 2^252": lambda s: 2**252,
    "S with bit 253": lambda s: s | 2**253,
    "S with bit 254": lambda s: s | 2**254,
    "S with bit 255": lambda s: s | 2**255,
    "S all ones": lambda s: 2**256 - 1,
    "S + 1": lambda s: (s + 1) % ORDER,
}
for name, value in SCALARS.items():
    TABLE.forged(
        "C1.%s" % name.replace(" ", ""),
        name + ", at the end",
        last_signed(with_s(value)),
        SIGNATURE,
    )
for name in ("S + L", "S = 0", "S all ones"):
    TABLE.forged(
        "C1.chained-%s" % name.replace(" ", ""),
        name + " at 100, the chain made right",
        chained(with_s(SCALARS[name])),
        tampered("SIG", at=100),
    )
POINTS = {
    "zero": lambda r: bytes(32),
    "ones": lambda r: b"\xff" * 32,
    "identity": lambda r: b"\x01" + bytes(31),
    "sign": lambda r: r[:31] + bytes([r[31] ^ 0x80]),
    "torsion": lambda r: forger.encode_point(
        forger.add_points(
            forger.decode_point(r), forger.decode_point(bytes.fromhex(forger.LOW_ORDER[6]))
        )
    ),
    "y+p": lambda r: (
        ((number(r) & (2**255 - 1)) + forger.PRIME).to_bytes(32, "little")
        if (number(r) & (2**255 - 1)) < 19
        else b"\xee" + b"\xff" * 31
    ),
    "no point": lambda r: b"\x02" + bytes(31),
}
for name, value in POINTS.items():
    TABLE.forged(
        "C2.R-" + name.replace(" ", ""), "R: " + name, last_signed(with_r(value)), SIGNATURE
    )
TABLE.forged("C2.zero", "64 zero bytes", last_signed(lambda sig, data: bytes(64)), SIGNATURE)
TABLE.forged("C2.swap", "S before R", last_signed(lambda sig, data: sig[32:] + sig[:32]), SIGNATURE)
TABLE.forged(
    "C2.big",
    "S with its bytes the other way round",
    last_signed(lambda sig, data: sig[:32] + sig[:31:-1]),
    SIGNATURE,
)
for number_, encoding in enumerate(forger.LOW_ORDER):

    def small_r(sig, data, r=bytes.fromhex(encoding)):
        """R of small order with the S that makes the cofactored equation true."""
        k = forger.challenge(r, forger.BOB.public_bytes, forger.pae(data))
        return r + (k * forger.BOB.scalar() % ORDER).to_bytes(32, "little")

    TABLE.forged(
        "C2.small%d" % number_,
        "R of small order (%s…), S made to fit" % encoding[:6],
        last_signed(small_r),
        SIGNATURE,
    )


# --- C4: the edge cases of CCTV ---
EDGE_CASES = pathlib.Path(__file__).resolve().parents[3] / "shared/vectors/ed25519-edge-cases.json"


def edge_keys():
    """The keys of the CCTV set, where it is at hand; else those that can be made from the text."""
    here = pathlib.Path(__file__).with_name("ed25519-edge-keys.json")
    for path in (EDGE_CASES, here):
        if path.exists():
            return sorted({one["key"] for one in json.loads(path.read_text())})
    return list(forger.LOW_ORDER)


@TABLE.case("C4", "the keys of the CCTV vectors, enrolled through the command line")
def edge_cases(world):
    """Signing as one of them needs no key at all; so none but a sound one may be enrolled."""
    path = ledger().save(world.file)
    for public in edge_keys():
        ran = world.json(
            "--trust",
            forger.ROOT.public,
            "--key",
            world.root_key,
            "--ledger",
            path,
            "key",
            "authorize",
            public,
            "--label",
            "x" + public[:8],
        )
        sound = strict_key(bytes.fromhex(public))
        demand((ran.code == 0) == sound, "the accepted set is another", ran)


def strict_key(data):
    """Rules 1 to 4 of section 4, by the forger's own arithmetic."""
    value = number(data)
    y, sign = value & (2**255 - 1), value >> 255
    if y >= forger.PRIME:
        return False
    point = forger.decode_point(data)
    if point is None or (point[0] == 0 and sign):
        return False
    eightfold = scaled(point, 8)
    return eightfold != (0, 1) and scaled(point, ORDER) == (0, 1)


def scaled(point, times):
    total = (0, 1)
    while times:
        if times & 1:
            total = forger.add_points(total, point)
        point = forger.add_points(point, point)
        times >>= 1
    return total


@TABLE.case("C4.b", "the CCTV vectors as records: the message is another, so none may pass")
def edge_records(world):
    if not EDGE_CASES.exists():
        return
    seen = {}
    for one in json.loads(EDGE_CASES.read_text()):
        seen.setdefault(tuple(sorted(one.get("flags") or [])), one)
    chosen = list(seen.values())[: None if world.long else 12]
    for one in chosen:
        made = ledger()
        event = made.event("session.opened", {"agent": "x", "inherits": [], "scope": forger.SCOPE})
        event["key"] = one["key"]
        made.put(event, forger.canonical(event), bytes.fromhex(one["sig"]))
        path = world.evidence / ("%d.db" % one["number"])
        made.save(path)
        told = world.verify(path)
        hold(told, tampered("SIG", "KEY", at=COUNT))
        path.unlink()


# --- C5: keys that nobody should be able to enrol ---
WEAK = {"low%d" % at: one for at, one in enumerate(forger.LOW_ORDER)}
WEAK["torsion"] = forger.torsioned(forger.BOB.public_bytes).hex()
WEAK["no-point"] = "02" + "00" * 31
WEAK["y-is-p-plus-2"] = (forger.PRIME + 2).to_bytes(32, "little").hex()
WEAK["all-ones"] = "ff" * 32
for name, public in WEAK.items():

    def enrolled(made, public=public):
        made.add("key.authorized", {"key": public, "label": "weak", "roles": ["recorder"]})

    def by_command(world, public=public):
        path = ledger().save(world.file)
        before = snapshot(world.evidence)
        ran = world.json(
            "--trust",
            forger.ROOT.public,
            "--key",
            world.root_key,
            "--ledger",
            path,
            "key",
            "authorize",
            public,
            "--label",
            "weak",
        )
        demand(ran.code != 0 and ran.error.get("code"), "a weak key was enrolled", ran)
        demand(snapshot(world.evidence) == before, "the folder was changed")

    def pinned(world, public=public):
        ran = world.json("trust", "add", public)
        demand(ran.code != 0, "a weak key was pinned", ran)

    def signs(made, public=public):
        """With such a key enrolled, R = identity and S = 0 passes the loose equations."""
        made.add("key.authorized", {"key": public, "label": "weak", "roles": ["recorder"]})
        event = made.event("session.opened", {"agent": "x", "inherits": [], "scope": forger.SCOPE})
        event["key"] = public
        made.put(event, forger.canonical(event), b"\x01" + bytes(63))

    TABLE.forged(
        "C5.a-" + name,
        "%s enrolled by the root, forged" % name,
        enrolled,
        unlawful("key_weak", at=COUNT),
    )
    TABLE.add("C5.b-" + name, "%s by `key authorize`" % name, by_command)
    TABLE.add("C5.c-" + name, "%s by `trust add`" % name, pinned)
    TABLE.forged("C5.d-" + name, "%s signs with S = 0" % name, signs, tampered("KEY", at=COUNT + 1))

    def as_root(world, public=public):
        """A ledger whose root is such a key: everybody could have made it."""
        made = forger.Ledger()
        made.truncate(0)
        event = made.event("ledger.opened", FULL.events[0]["body"])
        event["key"] = public
        made.put(event, forger.canonical(event), b"\x01" + bytes(63))
        made.save(world.file)
        told = world.verify(world.file)
        hold(told, tampered("KEY", at=0))

    TABLE.add("C5.e-" + name, "%s as the root" % name, as_root)
for at, text in enumerate(
    (
        "",
        "00",
        FULL.root.public[:-1],
        FULL.root.public + "0",
        "0x" + forger.BOB.public[2:],
        forger.Key(9).public.upper(),
        "g" * 64,
        " " + forger.Key(9).public,
    )
):

    def no_key(world, text=text):
        path = ledger().save(world.file)
        before = snapshot(world.evidence)
        ran = world.json(
            "--trust",
            forger.ROOT.public,
            "--key",
            world.root_key,
            "--ledger",
            path,
            "key",
            "authorize",
            text,
            "--label",
            "weak",
        )
        demand(ran.code != 0, "it was taken for a key", ran)
        demand(snapshot(world.evidence) == before, "the folder was changed")

    TABLE.add("C5.f%d" % at, "`key authorize` with %r" % text[:12], no_key)


# --- C6 to C9: right key, wrong thing ---
def claimed(signer, named):
    def forge(made):
        event = made.event(
            "session.opened", {"agent": "x", "inherits": [], "scope": forger.SCOPE}, named
        )
        data = forger.canonical(event)
        made.put(event, data, signer.sign(data))

    return forge


TABLE.forged("C6.a", "signed by bob, says alice", claimed(forger.BOB, forger.ALICE), SIGNATURE)
TABLE.forged(
    "C6.b", "signed by alice, says the root", claimed(forger.ALICE, forger.ROOT), SIGNATURE
)
TABLE.forged(
    "C6.c", "signed by a stranger, says bob", claimed(forger.Key(9), forger.BOB), SIGNATURE
)
TYPES = {
    "empty": b"",
    "other": b"application/vnd.in-toto+json",
    "short": forger.PAYLOAD_TYPE[:-5],
    "long": forger.PAYLOAD_TYPE + b" ",
    "v2": forger.PAYLOAD_TYPE.replace(b"v1", b"v2"),
    "upper": forger.PAYLOAD_TYPE.upper(),
}
for name, kind in TYPES.items():
    TABLE.forged(
        "C8.a-" + name,
        "signed under payload type %r" % kind[-30:],
        last_signed(lambda sig, data, kind=kind: forger.BOB.sign(data, kind)),
        SIGNATURE,
    )
ENCODINGS = {
    "bare": lambda data: data,
    "hash": lambda data: hashlib.sha256(data).digest(),
    "leaf": lambda data: hashlib.sha256(b"\0" + data).digest(),
    "pae without version": lambda data: forger.pae(data)[7:],
    "pae v2": lambda data: forger.pae(data).replace(b"DSSEv1", b"DSSEv2", 1),
    "pae with another length": lambda data: forger.pae(data).replace(
        b" %d " % len(data), b" %d " % (len(data) + 1), 1
    ),
    "pae with a leading zero": lambda data: forger.pae(data).replace(
        b" %d " % len(data), b" 0%d " % len(data), 1
    ),
    "pae and a newline": lambda data: forger.pae(data) + b"\n",
    "base64": lambda data: base64.b64encode(data),
    "pae of base64": lambda data: forger.pae(base64.b64encode(data)),
}
for name, encoded in ENCODINGS.items():
    TABLE.forged(
        "C8.b-" + name.replace(" ", "-"),
        "signed over another encoding: " + name,
        last_signed(lambda sig, data, encoded=encoded: forger.BOB.secret.sign(encoded(data))),
        SIGNATURE,
    )
TABLE.forged(
    "C8.c",
    "bob's signature of his own other event",
    lambda made: (
        made.put(
            *(
                lambda event: (
                    event,
                    forger.canonical(event),
                    made.records[made.marks["open"]][:64],
                )
            )(made.event("session.opened", made.events[made.marks["open"]]["body"], forger.BOB))
        )
        and None
    ),
    SIGNATURE,
)


def dom(flag, context):
    """RFC 8032's dom2: what Ed25519ph and Ed25519ctx put before the message."""
    return b"SigEd25519 no Ed25519 collisions" + bytes([flag, len(context)]) + context


def variant(prefix, message):
    """A signature of RFC 8032 with a prefix, made by hand."""

    def change(sig, data):
        key = forger.BOB
        digest = hashlib.sha512(key.seed).digest()
        r = number(hashlib.sha512(prefix + digest[32:] + message(data)).digest()) % ORDER
        base = forger.decode_point(
            (4 * pow(5, forger.PRIME - 2, forger.PRIME) % forger.PRIME).to_bytes(32, "little")
        )
        point = forger.encode_point(scaled(base, r))
        k = number(hashlib.sha512(prefix + point + key.public_bytes + message(data)).digest())
        s = (r + k * key.scalar()) % ORDER
        return point + s.to_bytes(32, "little")

    return change


TABLE.forged(
    "C9.a",
    "Ed25519ph",
    last_signed(variant(dom(1, b""), lambda data: hashlib.sha512(forger.pae(data)).digest())),
    SIGNATURE,
)
TABLE.forged("C9.b", "Ed25519ctx", last_signed(variant(dom(0, b"handoff"), forger.pae)), SIGNATURE)
TABLE.forged(
    "C9.c",
    "the pre-hash without its prefix",
    last_signed(variant(b"", lambda data: hashlib.sha512(forger.pae(data)).digest())),
    SIGNATURE,
)
TABLE.forged(
    "C9.control",
    "the same hand-made arithmetic without a prefix is a signature",
    last_signed(variant(b"", forger.pae)),
    None,
    events=COUNT + 1,
)


# --- C10 to C17: who may ---
def opens(key):
    return lambda made: made.open(key, "x") and None


def after(*steps):
    def forge(made):
        for step in steps:
            step(made)

    return forge


def authorizes(by, key=forger.Key(9), label="new", roles=("recorder",)):
    return lambda made: made.authorize(key, label, roles, by)


def revokes(by, key, **members):
    return lambda made: made.revoke(key, by, **members)


ADMIN, NEW, STRANGER = forger.Key(0x44), forger.Key(9), forger.Key(0x77)
with_admin = authorizes(None, ADMIN, "admin", ("admin",))
KEY_RULES = {
    "C10.a": ("a revoked key opens a session", after(opens(forger.MALLORY)), "key_revoked", 0),
    "C10.b": (
        "revoked, then signs in its open session",
        after(
            revokes(None, forger.BOB),
            lambda made: made.receipt(made.marks["open"], forger.AXIS_PROBE),
        ),
        "key_revoked",
        1,
    ),
    "C10.c": (
        "revoked, then enrols",
        after(with_admin, revokes(None, ADMIN), authorizes(ADMIN)),
        "key_revoked",
        2,
    ),
    "C10.d": (
        "revoked, then seals its session",
        after(revokes(None, forger.BOB), lambda made: made.ambient(made.marks["open"])),
        "key_revoked",
        1,
    ),
    "C10.e": (
        "a key never enrolled opens a session",
        after(opens(STRANGER)),
        "key_not_authorized",
        0,
    ),
    "C10.f": (
        "a key never enrolled speaks in bob's session",
        after(
            lambda made: made.within(
                made.marks["open"], "ambient.declared", {"entries": []}, key=STRANGER
            )
        ),
        "key_not_authorized",
        0,
    ),
    "C12.a": (
        "revoke, enrol again",
        after(authorizes(None, forger.MALLORY, "again")),
        "key_already_authorized",
        0,
    ),
    "C12.b": (
        "revoke, enrol again under the old label",
        after(authorizes(None, forger.MALLORY, "third")),
        "key_already_authorized",
        0,
    ),
    "C13.a": ("a recorder enrols", after(authorizes(forger.ALICE)), "role", 0),
    "C13.b": (
        "a key enrols itself",
        after(authorizes(STRANGER, STRANGER)),
        "key_not_authorized",
        0,
    ),
    "C13.c": ("a revoked key enrols", after(authorizes(forger.MALLORY)), "key_revoked", 0),
    "C13.d": (
        "a recorder makes itself an admin",
        after(authorizes(forger.ALICE, forger.ALICE, "alice-two", ("admin",))),
        "role",
        0,
    ),
    "C13.e": (
        "an admin makes an admin",
        after(with_admin, authorizes(ADMIN, NEW, "new", ("admin",))),
        "root_only",
        1,
    ),
    "C13.f": (
        "an admin makes an admin and recorder",
        after(with_admin, authorizes(ADMIN, NEW, "new", ("admin", "recorder"))),
        "root_only",
        1,
    ),
    "C13.g": (
        "the root enrols itself again",
        after(authorizes(None, forger.ROOT, "root-two", ("admin", "recorder"))),
        "key_already_authorized",
        0,
    ),
    "C14.a": ("a recorder revokes the root", after(revokes(forger.ALICE, forger.ROOT)), "role", 0),
    "C14.b": ("a recorder revokes another", after(revokes(forger.ALICE, forger.BOB)), "role", 0),
    "C14.c": ("a recorder revokes itself", after(revokes(forger.ALICE, forger.ALICE)), "role", 0),
    "C14.d": (
        "an admin revokes the root",
        after(with_admin, revokes(ADMIN, forger.ROOT)),
        "root_irrevocable",
        1,
    ),
    "C14.e": ("the root revokes itself", after(revokes(None, forger.ROOT)), "root_irrevocable", 0),
    "C14.f": (
        "an admin revokes another admin",
        after(with_admin, authorizes(None, NEW, "two", ("admin",)), revokes(ADMIN, NEW)),
        "root_only",
        2,
    ),
    "C14.g": ("an admin revokes itself", after(with_admin, revokes(ADMIN, ADMIN)), "root_only", 1),
    "C14.h": (
        "a key that nobody enrolled is revoked",
        after(revokes(None, STRANGER)),
        "key_unknown",
        0,
    ),
    "C14.i": (
        "an admin raises compromised_since",
        after(
            with_admin,
            revokes(ADMIN, forger.BOB, compromised_since=50),
            revokes(ADMIN, forger.BOB, compromised_since=60),
        ),
        "compromised_since",
        2,
    ),
    "C14.j": (
        "an admin withdraws compromised_since",
        after(
            with_admin, revokes(ADMIN, forger.BOB, compromised_since=50), revokes(ADMIN, forger.BOB)
        ),
        "compromised_since",
        2,
    ),
    "C14.k": (
        "compromised from a seq that is not yet",
        after(revokes(None, forger.BOB, compromised_since=COUNT + 1)),
        "compromised_since",
        0,
    ),
    "C16.a": (
        "the same key with another role",
        after(authorizes(None, forger.ALICE, "alice-two", ("admin",))),
        "key_already_authorized",
        0,
    ),
    "C16.b": (
        "the same key with the same label and role",
        after(authorizes(None, forger.ALICE, "alice")),
        "key_already_authorized",
        0,
    ),
    "C16.c": (
        "another key with the label of alice",
        after(authorizes(None, NEW, "alice")),
        "label_in_use",
        0,
    ),
    "C16.d": (
        "another key with the label of a revoked one",
        after(authorizes(None, NEW, "third")),
        "label_in_use",
        0,
    ),
    "C16.e": (
        "another key with the label of the root",
        after(authorizes(None, NEW, "attacked")),
        "label_in_use",
        0,
    ),
    "C17.a": (
        "an admin who is no recorder opens a session",
        after(with_admin, opens(ADMIN)),
        "role",
        1,
    ),
    "C17.b": (
        "a recorder acknowledges",
        after(
            lambda made: made.add("event.acknowledged", {"reason": "r", "up_to": 5}, forger.ALICE)
        ),
        "role",
        0,
    ),
    "C17.c": (
        "an admin acknowledges",
        after(
            with_admin,
            lambda made: made.add("event.acknowledged", {"reason": "r", "up_to": 5}, ADMIN),
        ),
        "root_only",
        1,
    ),
    "C17.d": (
        "a recorder upgrades",
        after(lambda made: made.add("ledger.upgraded", {"rules": 2, "v": 2}, forger.ALICE)),
        "role",
        0,
    ),
    "C17.e": (
        "an admin upgrades",
        after(with_admin, lambda made: made.add("ledger.upgraded", {"rules": 2, "v": 2}, ADMIN)),
        "root_only",
        1,
    ),
    "C17.f": (
        "the root upgrades to less",
        after(lambda made: made.add("ledger.upgraded", {"rules": 1, "v": 1})),
        "upgrade_lowers",
        0,
    ),
    "C17.g": (
        "a recorder erases captures",
        after(
            lambda made: made.add(
                "capture.erased", {"commitments": ["0" * 64], "reason": "r"}, forger.ALICE
            )
        ),
        "role",
        0,
    ),
    "C17.h": (
        "a recorder speaks in the session of another",
        after(
            lambda made: made.within(
                made.marks["open"], "ambient.declared", {"entries": []}, key=forger.ALICE
            )
        ),
        "session_key",
        0,
    ),
    "C17.i": (
        "a recorder abandons the session of another",
        after(
            lambda made: made.add(
                "session.abandoned", {"reason": "r", "session": made.marks["open"]}, forger.ALICE
            )
        ),
        "session_key",
        0,
    ),
    "C17.j": (
        "a recorder withdraws a flag in no session",
        after(
            lambda made: made.add(
                "claim.discarded",
                {
                    "claim": "pending-two",
                    "flag": made.marks["flag_two"],
                    "reason": "r",
                    "statement": "another step would",
                    "why": "withdrawn",
                },
                forger.ALICE,
            )
        ),
        "role",
        0,
    ),
}
for name, (what, forge, rule, offset) in KEY_RULES.items():
    TABLE.forged(name, what, forge, unlawful(rule, at=COUNT + offset))
LABELS = {
    "case": "Alice",
    "nfc": "alic\u00e9",
    "nfd": "alice\u0301",
    "cyrillic": "\u0430lice",
    "space": "alice ",
    "wide": "\uff41lice",
    "zero-width": "al\u200bice",
    "bidi": "\u202ealice",
    "empty": "",
    "long": "a" * 65,
    "dash": "-alice",
    "newline": "alice\n",
}
for name, label in LABELS.items():
    TABLE.forged(
        "C16.f-" + name,
        "a label like alice's: " + name,
        authorizes(None, NEW, label),
        tampered("ENCODING", at=COUNT),
    )

    def by_label(world, label=label):
        path = ledger().save(world.file)
        ran = world.json(
            "--trust",
            forger.ROOT.public,
            "--key",
            world.root_key,
            "--ledger",
            path,
            "key",
            "authorize",
            NEW.public,
            "--label=" + label,
        )
        demand(ran.code != 0, "a confusable label was taken", ran)

    TABLE.add("C16.g-" + name, "`key authorize --label` with " + name, by_label)
ROLES = {
    "unknown": ["root"],
    "case": ["Admin"],
    "twice": ["recorder", "recorder"],
    "none": [],
    "order": ["recorder", "admin"],
    "text": "recorder",
    "number": [1],
    "space": ["recorder "],
}
for name, roles in ROLES.items():

    def with_roles(made, roles=roles):
        made.add("key.authorized", {"key": NEW.public, "label": "new", "roles": roles})

    TABLE.forged(
        "C17.roles-" + name, "roles: %s" % name, with_roles, tampered("ENCODING", at=COUNT)
    )


@TABLE.case("C11", "compromised_since voids what the key signed since, and passes on")
def compromised(world):
    world.many = False
    made = ledger()
    made.revoke(forger.ALICE, compromised_since=made.marks["claim"])
    made.save(world.file)
    told = accepted(world, world.file, COUNT + 1)
    voided = told.document["voided"]
    demand(made.marks["claim"] in voided and made.marks["seal"] in voided, "not void", voided)
    demand(made.marks["axis"] not in voided, "void before its time", voided)
    says(told, "void")


# --- C18: files of keys whose halves differ ---
def pem(label, data):
    """RFC 7468: lines of 64 characters."""
    text = base64.b64encode(data).decode()
    lines = "".join(text[at : at + 64] + "\n" for at in range(0, len(text), 64))
    return ("-----BEGIN %s-----\n%s-----END %s-----\n" % (label, lines, label)).encode()


VERSION_TWO = bytes.fromhex("3051020101300506032b657004220420")


def halves(seed, public):
    return pem("PRIVATE KEY", VERSION_TWO + seed + bytes.fromhex("812100") + public)


def openssh(public, times):
    text = forger.ROOT.openssh()
    data = base64.b64decode(b"".join(text.split(b"\n")[1:-2]))
    return pem("OPENSSH PRIVATE KEY", data.replace(forger.ROOT.public_bytes, public, times))


BROKEN = {
    "a": (
        "PKCS#8 v2 with the public half of another",
        lambda: halves(forger.ROOT.seed, NEW.public_bytes),
    ),
    "b": ("PKCS#8 v2 with a public half of zeroes", lambda: halves(forger.ROOT.seed, bytes(32))),
    "c": ("OpenSSH, both public halves of another", lambda: openssh(NEW.public_bytes, 9)),
    "d": ("OpenSSH, the outer public half of another", lambda: openssh(NEW.public_bytes, 1)),
    "e": ("cut by 30 bytes", lambda: forger.ROOT.pem()[:-30]),
    "f": (
        "the seed cut by a byte",
        lambda: pem(
            "PRIVATE KEY", bytes.fromhex("302d020100300506032b65700421041f") + forger.ROOT.seed[:31]
        ),
    ),
    "g": (
        "bytes after the key",
        lambda: pem(
            "PRIVATE KEY",
            bytes.fromhex("302e020100300506032b657004220420") + forger.ROOT.seed + b"\0",
        ),
    ),
    "h": (
        "PKCS#8 v2 whose public half is one bit off",
        lambda: halves(
            forger.ROOT.seed,
            bytes([forger.ROOT.public_bytes[0] ^ 1]) + forger.ROOT.public_bytes[1:],
        ),
    ),
}
for letter, (what, content) in BROKEN.items():

    def no_signing(world, content=content):
        path = ledger().save(world.file)
        key = world.folder / "broken.pem"
        key.write_bytes(content())
        os.chmod(key, 0o600)
        before = snapshot(world.evidence)
        for command in (["session", "open", "--agent", "x"], ["key", "show"]):
            ran = world.json(
                "--trust", forger.ROOT.public, "--key", key, "--ledger", path, *command
            )
            demand(ran.code not in (0, 1), "a broken key was used", ran)
            demand(ran.error.get("code") in classes("KEYFILE"), "another code", ran)
            for secret in (forger.ROOT.seed.hex().encode(), base64.b64encode(forger.ROOT.seed)):
                demand(secret[:40] not in ran.out + ran.err, "the secret was printed")
        demand(snapshot(world.evidence) == before, "the folder was changed")

    TABLE.add("C18." + letter, "key file: " + what, no_signing)


@TABLE.case("C18.control", "the same forms with both halves right are keys")
def whole_keys(world):
    path = ledger().save(world.file)
    for content in (
        forger.ROOT.pem(),
        forger.ROOT.openssh(),
        halves(forger.ROOT.seed, forger.ROOT.public_bytes),
    ):
        key = world.folder / "whole.pem"
        key.write_bytes(content)
        os.chmod(key, 0o600)
        told = world.ok("--key", key, "--ledger", path, "key", "show")
        demand(forger.ROOT.public in str(told), "another key", told)


# --- C20: no algorithm is named in the format, so that none can be swapped ---
for at, (name, value) in enumerate(
    (("alg", "sha1"), ("alg", ""), ("hash", "none"), ("alg", "none"))
):
    TABLE.forged(
        "C20.a%d" % at,
        "an envelope member %s = %r" % (name, value),
        lambda made, name=name, value=value: (
            made.add(
                "session.opened",
                {"agent": "x", "inherits": [], "scope": forger.SCOPE},
                forger.BOB,
                **{name: value},
            )
            and None
        ),
        tampered("ENCODING", at=COUNT),
    )
TABLE.forged(
    "C20.b",
    "prev of 40 digits, as SHA-1 has",
    lambda made: (
        made.add(
            "session.opened",
            {"agent": "x", "inherits": [], "scope": forger.SCOPE},
            forger.BOB,
            prev=hashlib.sha1(made.records[-1]).hexdigest(),
        )
        and None
    ),
    tampered("ENCODING", at=COUNT),
)
TABLE.forged(
    "C20.c",
    "prev of 128 digits, as SHA-512 has",
    lambda made: (
        made.add(
            "session.opened",
            {"agent": "x", "inherits": [], "scope": forger.SCOPE},
            forger.BOB,
            prev=hashlib.sha512(made.records[-1]).hexdigest(),
        )
        and None
    ),
    tampered("ENCODING", at=COUNT),
)
TABLE.forged(
    "C20.d",
    "prev by SHA3-256",
    lambda made: (
        made.add(
            "session.opened",
            {"agent": "x", "inherits": [], "scope": forger.SCOPE},
            forger.BOB,
            prev=hashlib.sha3_256(b"\0" + made.records[-1]).hexdigest(),
        )
        and None
    ),
    tampered("CHAIN", at=COUNT),
)


# --- who is trusted ---
@TABLE.case("C21.a", "no pin: self_consistent, exit 3")
def unpinned(world):
    made = ledger()
    made.save(world.file)
    told = world.verify(world.file, trust=None)
    demand(told.document["result"] == "self_consistent" and told.code == 3, "trusted", told)


for at, (name, key) in enumerate(
    (("an enrolled recorder", forger.ALICE), ("a stranger", NEW), ("a revoked key", forger.MALLORY))
):

    def another_pin(world, key=key):
        ledger().save(world.file)
        told = world.verify(world.file, trust=key)
        demand(told.document["result"] == "self_consistent", "trusted", told)
        demand(told.code == 3, "another exit", told)

    TABLE.add("C21.b%d" % at, "pinned: %s, who is not the root" % name, another_pin)
for at, content in enumerate(
    (
        b"",
        b"\n",
        b"# nothing\n",
        b"not a key\n",
        b"\0" * 64,
        forger.ROOT.pem(),
        forger.ROOT.public.encode()[:-1],
    )
):

    def trust_file(world, content=content):
        ledger().save(world.file)
        pins = world.folder / "pins"
        pins.write_bytes(content)
        os.chmod(pins, 0o600)
        ran = world.json("verify", "--trust", pins, "--", world.file)
        demand(ran.code != 0, "it verified by a file that names no key", ran)

    TABLE.add("C21.c%d" % at, "--trust with a file of %r" % content[:12], trust_file)
