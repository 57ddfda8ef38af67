"""D: bytes that are validly signed and linked, and no event in canonical form."""

import base64
import gzip
import json

import forger
from forger import Raw
from harness import (
    Expect,
    Table,
    accepted,
    classes,
    demand,
    hold,
    ledger,
    says,
    tampered,
    unlawful,
)

TABLE = Table("D")
FULL = ledger()
COUNT = FULL.count
BAD = tampered("ENCODING", at=COUNT)


def next_event(made, **envelope):
    """A lawful event with a text, a number, a list and an object in it."""
    body = {
        "agent": "x",
        "inherits": [made.marks["sealed"]],
        "purpose": "text",
        "scope": forger.SCOPE,
    }
    return made.event("session.opened", body, forger.BOB, **envelope)


def spelled(old, new):
    """The next event with a piece of its bytes replaced."""

    def forge(made):
        data = forger.canonical(next_event(made))
        demand(data.count(old) >= 1, "nothing to replace", old)
        made.add_bytes(data.replace(old, new, 1), forger.BOB)

    return forge


def bytes_of(change):
    """The next event's bytes, changed."""
    return lambda made: (
        made.add_bytes(change(forger.canonical(next_event(made))), forger.BOB) and None
    )


def unknown(body):
    """An event of a kind that is not allowed: only its canonical form is looked at."""

    def forge(made):
        event = made.event("x.unknown", Raw("BODY"), forger.BOB)
        data = forger.canonical(event).replace(b"BODY", body, 1)
        made.add_bytes(data, forger.BOB)

    return forge


def spelling(name, what, old, new, expect=BAD):
    TABLE.forged(name, what, spelled(old, new), expect)


# D1, D2: names twice.
SEQ = b'"seq":%d' % COUNT
spelling("D1.a", "seq twice, the same", SEQ, SEQ + b"," + SEQ)
spelling("D1.b", "seq twice, another first", SEQ, b'"seq":5,' + SEQ)
spelling("D1.c", "seq twice, another last", SEQ, SEQ + b',"seq":5')
spelling("D1.d", "agent twice in the body", b'"agent":"x"', b'"agent":"x","agent":"y"')
spelling("D1.e", "body twice", b'{"body":', b'{"body":{},"body":')
spelling("D1.f", "key twice", b'"kind":', b'"key":"%s","kind":' % forger.BOB.public.encode())
spelling("D1.g", "v twice", b'"v":1}', b'"v":1,"v":1}')
TABLE.forged("D1.h", "a name twice in a body of an unknown kind", unknown(b'{"a":1,"a":1}'), BAD)
TABLE.forged(
    "D1.i",
    "a name twice deep in a body of an unknown kind",
    unknown(b'{"a":[{"b":{"c":1,"c":2}}]}'),
    BAD,
)
spelling("D2.a", "agent twice, once escaped", b'"agent":"x"', b'"agent":"x","\\u0061gent":"y"')
spelling("D2.b", "seq as an escape alone", b'"seq"', b'"\\u0073eq"')
spelling("D2.c", "kind's value with an escape", b'"session.opened"', b'"session\\u002eopened"')
TABLE.forged(
    "D2.d",
    "a name twice by an escape in a body of an unknown kind",
    unknown(b'{"a":1,"\\u0061":1}'),
    BAD,
)

# D3 to D6: members too many, too few, null, arrays for objects.
for at, (where, member) in enumerate(
    (
        (b'{"agent"', b'{"aaa":1,"agent"'),
        (b'"v":1}', b'"v":1,"w":1}'),
        (b'{"body"', b'{"a":"","body"'),
        (b'"kind":', b'"key_id":"","kind":'),
        (b',"scope"', b',"scopd":false,"scope"'),
        (b'"v":1}', b'"v":1,"":0}'),
    )
):
    spelling("D3.%s" % "abcdef"[at], "an unknown member %r" % member, where, member)
for at, name in enumerate(
    (
        b'"key":"%s",' % forger.BOB.public.encode(),
        SEQ + b",",
        b'"session":0,',
        b',"v":1',
        b'"kind":"session.opened",',
        b'"agent":"x",',
        b',"scope":"%s"' % forger.SCOPE.encode(),
        b'"inherits":[4],',
    )
):
    spelling("D4.%s" % "abcdefgh"[at], "without %r" % name[:16], name, b"")
for at, (old, new) in enumerate(
    (
        (b'"agent":"x"', b'"agent":null'),
        (SEQ, b'"seq":null'),
        (b'"purpose":"text"', b'"purpose":null'),
        (b'"inherits":[4]', b'"inherits":null'),
        (b'"inherits":[4]', b'"inherits":[null]'),
        (b'"v":1', b'"v":null'),
        (b'"session":0', b'"session":null'),
    )
):
    spelling("D5.%s" % "abcdefg"[at], "null in %r" % old[:12], old, new)
TABLE.forged("D5.h", "null in a body of an unknown kind", unknown(b'{"a":null}'), BAD)
spelling(
    "D6.a",
    "the body as an array",
    b'"body":{"agent":"x","inherits":[4],"purpose":"text","scope":"%s"}' % forger.SCOPE.encode(),
    b'"body":["x",[4],"text","%s"]' % forger.SCOPE.encode(),
)
TABLE.forged(
    "D6.b",
    "the whole event as an array",
    bytes_of(
        lambda data: (
            b"[" + b",".join(part.split(b":", 1)[1] for part in data[1:-1].split(b',"')) + b"]"
        )
    ),
    BAD,
)
spelling("D6.c", "inherits as an object", b'"inherits":[4]', b'"inherits":{"0":4}')
spelling("D6.d", "inherits as a number", b'"inherits":[4]', b'"inherits":4')
spelling("D6.e", "agent as an array", b'"agent":"x"', b'"agent":["x"]')
spelling("D6.f", "body as an empty array", b'"body":{', b'"body":[],"bodz":{')
TABLE.forged("D6.g", "an event in an array", bytes_of(lambda data: b"[" + data + b"]"), BAD)
TABLE.forged(
    "D6.h",
    "an enumeration as an object",
    lambda made: (
        made.add(
            "key.authorized",
            {"key": forger.Key(9).public, "label": "n", "roles": [{"recorder": True}]},
        )
        and None
    ),
    BAD,
)
TABLE.forged(
    "D6.i",
    "the policy as an array",
    lambda made: (
        made.add(
            "ledger.opened", {"name": "n", "nonce": "0" * 64, "policy": [False, False], "rules": 1}
        )
        and None
    ),
    BAD,
)

# D8: other spellings.
SPELLINGS = {
    "unsorted members": (b'"agent":"x","inherits":[4]', b'"inherits":[4],"agent":"x"'),
    "unsorted envelope": (b'"session":0,', b""),
    "an escaped letter": (b'"text"', b'"\\u0074ext"'),
    "an escaped slash": (b'"text"', b'"te\\/xt"'),
    "an escaped slash in hex": (b'"text"', b'"te\\u002fxt"'),
    "upper-case hex in an escape": (b'"text"', b'"te\\u001Fxt"'),
    "a newline by its number": (b'"text"', b'"te\\u000axt"'),
    "a tab by its number": (b'"text"', b'"te\\u0009xt"'),
    "a quote by its number": (b'"text"', b'"te\\u0022xt"'),
    "DEL escaped": (b'"text"', b'"te\\u007fxt"'),
    "U+2028 escaped": (b'"text"', b'"te\\u2028xt"'),
    "e acute escaped": (b'"text"', b'"te\\u00e9xt"'),
    "an emoji by surrogates": (b'"text"', b'"te\\ud83d\\ude00xt"'),
    "a space after a colon": (b'"agent":', b'"agent": '),
    "a space before a colon": (b'"agent":', b'"agent" :'),
    "a tab after a comma": (b',"inherits"', b',\t"inherits"'),
    "a newline after a brace": (b'{"agent"', b'{\n"agent"'),
    "a space in an array": (b"[4]", b"[ 4]"),
    "an unknown escape": (b'"text"', b'"te\\xxt"'),
    "a trailing comma in an object": (b'"v":1}', b'"v":1,}'),
    "a trailing comma in an array": (b"[4]", b"[4,]"),
    "single quotes": (b'"text"', b"'text'"),
    "a comment": (b'"v":1}', b'"v":1/**/}'),
    "an unquoted name": (b'"v":1}', b"v:1}"),
    "a capital in a name": (b'"agent"', b'"Agent"'),
}
for at, (what, (old, new)) in enumerate(SPELLINGS.items()):
    if what == "unsorted envelope":
        TABLE.forged(
            "D8.%02d" % at,
            what,
            bytes_of(
                lambda data: data.replace(b'"session":0,', b"", 1).replace(
                    b'"v":1}', b'"v":1,"session":0}'
                )
            ),
            BAD,
        )
    else:
        spelling("D8.%02d" % at, what, old, new)
EDGES = {
    "space before": lambda data: b" " + data,
    "space after": lambda data: data + b" ",
    "newline after": lambda data: data + b"\n",
    "BOM": lambda data: b"\xef\xbb\xbf" + data,
    "NUL after": lambda data: data + b"\0",
    "two objects": lambda data: data + data,
    "a second empty object": lambda data: data + b"{}",
    "brace missing": lambda data: data[:-1],
    "brace too many": lambda data: data + b"}",
    "UTF-16": lambda data: data.decode().encode("utf-16"),
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "in a string": lambda data: forger.canonical(data.decode()),
    "JSON sequence": lambda data: b"\x1e" + data,
    "pretty": lambda data: json.dumps(json.loads(data), indent=1, sort_keys=True).encode(),
}
for at, (what, change) in enumerate(EDGES.items()):
    TABLE.forged("D8.e%02d" % at, "around it: " + what, bytes_of(change), BAD)

# D9: numbers.
NUMBERS = (
    b"1.0",
    b"1e0",
    b"-0",
    b"01",
    b"+1",
    b"1E400",
    b"1e-400",
    b"NaN",
    b"Infinity",
    b"-Infinity",
    b"9007199254740992",
    b"9007199254740993",
    b"9223372036854775808",
    b"18446744073709551616",
    b"1" + b"0" * 30,
    b"-1",
    b"0x4",
    b".5",
    b"5.",
    b"1_0",
    b"4.0",
    b"0e0",
    b"-",
    b"--1",
    b"1" + b"0" * 400,
    b"\xd9\xa4",
    b'"4"',
    b"true",
    b"4 ",
    b"1e1",
)
for at, literal in enumerate(NUMBERS):
    spelling(
        "D9.seq%02d" % at,
        "seq as %r" % literal[:20],
        SEQ,
        b'"seq":' + literal,
        Expect({"tampered"}, faults=classes("ENCODING") | {"seq"}, at=COUNT, events=COUNT),
    )
    spelling(
        "D9.list%02d" % at, "a number in a list as %r" % literal[:20], b"[4]", b"[" + literal + b"]"
    )
    spelling("D9.v%02d" % at, "v as %r" % literal[:20], b'"v":1}', b'"v":' + literal + b"}")
for at, literal in enumerate(
    (b"1.0", b"1e0", b"-0", b"01", b"9007199254740992", b"-9007199254740992", b"1E400", b"NaN")
):
    TABLE.forged(
        "D9.unknown%d" % at,
        "%r in a body of an unknown kind" % literal,
        unknown(b'{"a":%s}' % literal),
        BAD,
    )
for at, literal in enumerate((b"0", b"-1", b"9007199254740991", b"-9007199254740991")):
    TABLE.forged(
        "D9.fine%d" % at,
        "%r in a body of an unknown kind is canonical" % literal,
        unknown(b'{"a":%s}' % literal),
        unlawful("kind_not_allowed", at=COUNT),
    )

# D10, D12: bytes that are no text, and characters that must be escaped.
INVALID = {
    "ff": b"\xff",
    "fe": b"\xfe",
    "overlong slash": b"\xc0\xaf",
    "overlong NUL": b"\xc0\x80",
    "overlong of three": b"\xe0\x80\xaf",
    "CESU surrogate": b"\xed\xa0\x80",
    "CESU pair": b"\xed\xa0\xbd\xed\xb8\x80",
    "continuation alone": b"\x80",
    "cut short": b"\xe2\x82",
    "beyond U+10FFFF": b"\xf4\x90\x80\x80",
    "five bytes": b"\xf8\x88\x80\x80\x80",
    "Latin-1": b"\xe9",
    "lone high": b"\\ud800",
    "lone low": b"\\udc00",
    "swapped pair": b"\\ude00\\ud83d",
    "high and a letter": b"\\ud83dx",
    "half an escape": b"\\ud8",
}
for at, (what, piece) in enumerate(INVALID.items()):
    spelling("D10.text%02d" % at, what + " in a known field", b'"text"', b'"te' + piece + b'xt"')
    spelling(
        "D10.name%02d" % at,
        what + " in the name of a member",
        b'"v":1}',
        b'"v":1,"w' + piece + b'":1}',
    )
    TABLE.forged(
        "D10.unknown%02d" % at,
        what + " in a field that nobody reads",
        unknown(b'{"a":"' + piece + b'"}'),
        BAD,
    )
for at, char in enumerate((b"\0", b"\n", b"\r", b"\t", b"\x01", b"\x1f", b"\x1b", b"\x08")):
    spelling("D12.raw%d" % at, "raw %r in a string" % char, b'"text"', b'"te' + char + b'xt"')
    TABLE.forged(
        "D12.unknown%d" % at,
        "raw %r in a string that nobody reads" % char,
        unknown(b'{"a":"' + char + b'"}'),
        BAD,
    )


def shown(made):
    """Every character that could mislead a reader, in a text, lawfully spelled."""
    text = "a\u0000b\u001bc\u007fd\u0085e\u009bf\u2028g\u202eh\u200bi\ufeffj\U000e0041k\r\nl"
    body = {"agent": "x", "inherits": [], "purpose": text, "scope": forger.SCOPE}
    made.add("session.opened", body, forger.BOB)


@TABLE.case("D12.shown", "NUL and control characters, escaped: shown whole, and harmless")
def displayed(world):
    made = ledger()
    shown(made)
    made.save(world.file)
    accepted(world, world.file, COUNT + 1)
    for command in (["show", str(COUNT)], ["log"], ["session", "list"]):
        ran = world.run("--trust", forger.ROOT.public, "--ledger", world.file, *command)
        for char in ran.text:
            demand(char == "\n" or not hazard(char), "raw %r in %s" % (char, command), ran)
        if command[0] == "show":
            demand("l" in ran.text.split("k")[-1], "the text is cut short", ran)
        ran = world.json(
            "--trust",
            forger.ROOT.public,
            "--ledger",
            world.file,
            *command,
            documented=command[0] != "log",
        )
        demand(all(0x20 <= one < 0x7F or one == 0x0A for one in ran.out), "raw in JSON", ran)


def hazard(char):
    code = ord(char)
    return (
        code < 0x20
        or 0x7F <= code < 0xA0
        or 0x200B <= code <= 0x200F
        or 0x2028 <= code <= 0x202E
        or 0x2060 <= code <= 0x206F
        or code == 0xFEFF
        or 0xE0000 <= code <= 0xE0FFF
    )


TABLE.forged(
    "D12.del", "DEL stands for itself", spelled(b'"text"', b'"te\x7fxt"'), None, events=COUNT + 1
)
TABLE.forged(
    "D12.nul",
    "NUL escaped as it should be",
    spelled(b'"text"', b'"te\\u0000xt"'),
    None,
    events=COUNT + 1,
)
TABLE.forged(
    "D12.emoji",
    "an emoji stands for itself",
    spelled(b'"text"', '"te\U0001f600xt"'.encode()),
    None,
    events=COUNT + 1,
)

# D13: nesting.
for depth in (33, 127, 128, 200, 1000, 20000):
    nested = b"[" * depth + b"]" * depth
    TABLE.forged(
        "D13.a%d" % depth,
        "%d arrays in a body of an unknown kind" % depth,
        unknown(b'{"a":' + nested + b"}"),
        BAD,
    )
    TABLE.forged(
        "D13.b%d" % depth,
        "%d arrays in a known field" % depth,
        spelled(b'"inherits":[4]', b'"inherits":' + nested),
        BAD,
    )
    if depth <= 10000:
        objects = b'{"a":' * depth + b"1" + b"}" * depth
        TABLE.forged(
            "D13.c%d" % depth,
            "%d objects in a body of an unknown kind" % depth,
            unknown(objects),
            BAD,
        )
TABLE.forged(
    "D13.fine",
    "31 arrays in a body of an unknown kind are canonical",
    unknown(b'{"a":' + b"[" * 31 + b"]" * 31 + b"}"),
    unlawful("kind_not_allowed", at=COUNT),
)


def too_long(world, data, export=False):
    """A record over the limit, in the file (past its checks) and in an export."""
    made = ledger()
    made.records.append(data)
    if export:
        head = made.export_header()
        with open(world.file, "wb") as out:
            out.write(head)
            for one in made.records:
                out.write(made.export_line(one))
        want = tampered("LIMIT", "EXPORT", "ENCODING", at=COUNT)
    else:
        made.save(world.file)
        want = Expect({"tampered"}, faults=classes("LIMIT", "STORAGE"), at=COUNT, events=COUNT)
    del made
    told = world.verify(world.file)
    hold(told, want)
    demand(told.memory < 256 << 20, "%d MB of memory" % (told.memory >> 20))


SIZES = {"1 MB": 1 << 20, "16 MB": 16 << 20, "100 MB": 100 << 20, "300 MB": 300 << 20}
for at, (what, size) in enumerate(SIZES.items()):
    slow = size > 16 << 20

    def spaces(world, size=size):
        too_long(world, bytes(64) + b" " * size)

    def brackets(world, size=size):
        too_long(world, bytes(64) + b"[" * size)

    def line(world, size=size):
        too_long(world, bytes(64) + b"[" * size, export=True)

    TABLE.add("D14.a%d" % at, "a record of %s of spaces" % what, spaces, slow)
    TABLE.add("D14.b%d" % at, "a record of %s of brackets" % what, brackets, slow)
    TABLE.add("D14.c%d" % at, "an export's line of %s of brackets" % what, line, slow)
for at, length in enumerate((65535, 65536, 65537)):

    def exact(world, length=length):
        made = ledger()
        body = {"agent": "x", "inherits": [], "scope": forger.SCOPE}
        event = made.event("x.unknown", {"a": ""}, forger.BOB)
        room = length - 64 - len(forger.canonical(event))
        event["body"] = {"a": "a" * room}
        data = forger.canonical(event)
        made.put(event, data, forger.BOB.sign(data))
        demand(len(made.records[-1]) == length and body, "another length")
        made.save(world.file)
        told = world.verify(world.file)
        hold(
            told,
            unlawful("kind_not_allowed", at=COUNT)
            if length == 65535
            else Expect({"tampered"}, faults=classes("LIMIT", "STORAGE"), at=COUNT),
        )

    TABLE.add("D14.d%d" % at, "a record of %d bytes" % length, exact)
for at, (what, text) in enumerate(
    (
        ("4,096 bytes", "é" * 2048),
        ("4,097 bytes", "é" * 2048 + "a"),
        ("60,000 bytes", "a" * 60000),
        ("empty", ""),
        ("blank", " \t\n\r"),
    )
):
    TABLE.forged(
        "D15.%s" % "abcde"[at],
        "a purpose of " + what,
        lambda made, text=text: (
            made.add(
                "session.opened",
                {"agent": "x", "inherits": [], "purpose": text, "scope": forger.SCOPE},
                forger.BOB,
            )
            and None
        ),
        BAD if at else None,
        **({} if at else {"events": COUNT + 1}),
    )

# D16: kinds and versions.
KINDS = {
    "x.unknown": True,
    "session.opened.again": True,
    "claim.verify": True,
    "a.b": True,
    "session.openedx": True,
    "a" * 31 + "." + "b" * 32: True,
    "session.opened ": False,
    "Session.opened": False,
    "SESSION.OPENED": False,
    " session.opened": False,
    "session": False,
    "": False,
    "session..opened": False,
    ".opened": False,
    "session.": False,
    "session.opened\n": False,
    "session.öpened": False,
    "session.opened\u0000": False,
    "session/opened": False,
    "session.opened1": False,
    "a" * 32 + "." + "b" * 32: False,
}
for at, (kind, formed) in enumerate(KINDS.items()):
    TABLE.forged(
        "D16.kind%02d" % at,
        "kind %r" % kind[:30],
        lambda made, kind=kind: (
            made.add(kind, {"agent": "x", "inherits": [], "scope": forger.SCOPE}, forger.BOB)
            and None
        ),
        unlawful("kind_not_allowed", at=COUNT) if formed else BAD,
    )
for at, (version, formed) in enumerate(
    (
        (2, True),
        (3, True),
        (2**53 - 1, True),
        (0, False),
        (-1, False),
        ("1", False),
        (Raw("1.0"), False),
        (Raw("1e0"), False),
        (True, False),
        (Raw("null"), False),
        ([1], False),
    )
):
    TABLE.forged(
        "D16.v%02d" % at,
        "v %r" % (version,),
        lambda made, version=version: (
            made.add(
                "session.opened",
                {"agent": "x", "inherits": [], "scope": forger.SCOPE},
                forger.BOB,
                v=version,
            )
            and None
        ),
        unlawful("kind_not_allowed", at=COUNT) if formed else BAD,
    )

# D17: next to nothing.
for at, data in enumerate(
    (
        b"{}",
        b"null",
        b"0",
        b'""',
        b"[]",
        b"true",
        b" ",
        b"{",
        b"}",
        b"\0",
        b'{"body":{}}',
        b"[[]]",
        b"\xff",
    )
):
    TABLE.forged(
        "D17.%02d" % at,
        "event bytes %r" % data,
        lambda made, data=data: made.add_bytes(data, forger.BOB) and None,
        BAD,
    )
TABLE.forged(
    "D17.none",
    "no event bytes at all",
    lambda made: made.add_bytes(b"", forger.BOB) and None,
    Expect({"tampered"}, faults=classes("LIMIT", "STORAGE"), at=COUNT),
)

# D18: other spellings of hashes and keys.
TEXTS = {
    "upper case": lambda text: text.upper(),
    "odd length": lambda text: text[:-1],
    "a digit more": lambda text: text + "0",
    "0x": lambda text: "0x" + text[2:],
    "base64": lambda text: base64.b64encode(bytes.fromhex(text)).decode(),
    "a space": lambda text: text[:-1] + " ",
    "a letter": lambda text: text[:-1] + "g",
    "empty": lambda text: "",
    "full-width": lambda text: text[:-1] + "\uff11",
    "one capital": lambda text: text.replace("a", "A", 1) if "a" in text else text[:-1] + "A",
    "colons": lambda text: ":".join(text[at : at + 2] for at in range(0, 64, 2)),
    "uuid": lambda text: text[:8] + "-" + text[8:],
    "half": lambda text: text[:32],
}
for at, (what, change) in enumerate(TEXTS.items()):

    def prev(made, change=change):
        made.add(
            "session.opened",
            {"agent": "x", "inherits": [], "scope": forger.SCOPE},
            forger.BOB,
            prev=change(made.prev),
        )

    def key(made, change=change):
        event = made.event(
            "session.opened", {"agent": "x", "inherits": [], "scope": forger.SCOPE}, forger.BOB
        )
        event["key"] = change(forger.BOB.public)
        data = forger.canonical(event)
        made.put(event, data, forger.BOB.sign(data))

    def scope(made, change=change):
        made.add(
            "session.opened",
            {"agent": "x", "inherits": [], "scope": change(forger.SCOPE)},
            forger.BOB,
        )

    def enrolled(made, change=change):
        made.add(
            "key.authorized",
            {"key": change(forger.Key(9).public), "label": "n", "roles": ["recorder"]},
        )

    for field, forge in (("prev", prev), ("key", key), ("scope", scope), ("body-key", enrolled)):
        TABLE.forged("D18.%s-%02d" % (field, at), "%s in %s" % (what, field), forge, BAD)
SIGS = {
    "unpadded": lambda sig: sig.rstrip(b"="),
    "padding too much": lambda sig: sig + b"=",
    "trailing bits": lambda sig: sig[:-3] + chr(sig[-3] + 1).encode() + b"==",
    "url alphabet": lambda sig: b"-" + sig[1:],
    "underscore": lambda sig: b"_" + sig[1:],
    "a newline": lambda sig: sig[:40] + b"\n" + sig[40:],
    "a space": lambda sig: b" " + sig[1:],
    "hex": lambda sig: base64.b64decode(sig).hex().encode(),
    "empty": lambda sig: b"",
    "63 bytes": lambda sig: base64.b64encode(base64.b64decode(sig)[:63]),
    "65 bytes": lambda sig: base64.b64encode(base64.b64decode(sig) + b"\0"),
    "escaped slash": lambda sig: b"\\/" + sig[1:],
}
for at, (what, change) in enumerate(SIGS.items()):

    def exported(world, change=change):
        lines = ledger().export().splitlines(keepends=True)
        head, tail = lines[101].rsplit(b',"sig":"', 1)
        lines[101] = head + b',"sig":"' + change(tail[:-3]) + b'"}\n'
        world.file.write_bytes(b"".join(lines))
        told = world.verify(world.file)
        demand(told.document["result"] in ("tampered", "incomplete"), "accepted", told)
        hold(
            told,
            Expect({"tampered"}, faults=classes("EXPORT", "SIG", "ENCODING"), at=100, events=100),
        )

    TABLE.add("D18.sig-%02d" % at, "an export's signature: " + what, exported)

# D19: times.
TIMES = (
    "2026-01-05T09:00:00Z",
    "2026-01-05T09:00:00.0Z",
    "2026-01-05T09:00:00.0000Z",
    "2026-01-05T09:00:00.000+00:00",
    "2026-01-05 09:00:00.000Z",
    "2026-01-05t09:00:00.000z",
    "2026-02-29T09:00:00.000Z",
    "2026-13-05T09:00:00.000Z",
    "2026-00-05T09:00:00.000Z",
    "2026-01-32T09:00:00.000Z",
    "2026-01-05T24:00:00.000Z",
    "2026-01-05T09:60:00.000Z",
    "2026-01-05T23:59:60.000Z",
    "-026-01-05T09:00:00.000Z",
    "12026-01-05T09:00:00.000Z",
    "",
    "now",
    "2026-01-05T09:00:00,000Z",
    "２026-01-05T09:00:00.000Z",
    "2026-01-05T09:00:00.000Z ",
    "2100-02-29T00:00:00.000Z",
    "1767603600000",
)
for at, time in enumerate(TIMES):
    TABLE.forged(
        "D19.%02d" % at,
        "time %r" % time,
        lambda made, time=time: (
            made.add(
                "session.opened",
                {"agent": "x", "inherits": [], "scope": forger.SCOPE},
                forger.BOB,
                time=time,
            )
            and None
        ),
        BAD,
    )

# D20: times are claims.
CLAIMED = {
    "earlier": "2026-01-05T08:00:00.000Z",
    "1970": "1970-01-01T00:00:00.000Z",
    "year 0": "0000-01-01T00:00:00.000Z",
}
for what, time in CLAIMED.items():

    def back(world, time=time):
        world.many = False
        made = ledger()
        made.add(
            "session.opened",
            {"agent": "x", "inherits": [], "scope": forger.SCOPE},
            forger.BOB,
            time=time,
        )
        made.save(world.file)
        told = accepted(world, world.file, COUNT + 1)
        demand(COUNT in told.document["clock_went_back"], "no warning", told)
        says(told, "warning")

    TABLE.add("D20.a-" + what.replace(" ", ""), "an event dated " + what, back)
for what, time in {
    "ten years": "2036-01-05T09:00:00.000Z",
    "9999": "9999-12-31T23:59:59.999Z",
}.items():

    def ahead(world, time=time):
        """In order of seq; a clock ahead of the reader's is a warning too."""
        world.many = False
        made = ledger()
        made.add(
            "session.opened",
            {"agent": "x", "inherits": [], "scope": forger.SCOPE},
            forger.BOB,
            time=time,
        )
        made.save(world.file)
        told = accepted(world, world.file, COUNT + 1)
        says(told, "warning")

    TABLE.add("D20.b-" + what.replace(" ", ""), "an event dated %s ahead" % what, ahead)

# D21: member names are ASCII, so that no order but one is possible.
for at, name in enumerate(("\ue000", "\U00010000", "é", "A", "a-b", "a.b", "", " a", "a\u0000")):
    TABLE.forged(
        "D21.%d" % at, "a member called %r" % name, unknown(forger.canonical({name: 1})), BAD
    )
TABLE.forged(
    "D21.order", "a1 before a in a body of an unknown kind", unknown(b'{"a1":1,"a":1}'), BAD
)
TABLE.forged(
    "D21.under", "a_ before a1, which is not their order", unknown(b'{"a_":1,"a1":1}'), BAD
)
TABLE.forged(
    "D21.fine",
    "a1 before a_, which is",
    unknown(b'{"a1":1,"a_":1}'),
    unlawful("kind_not_allowed", at=COUNT),
)

# D22: RFC 8785's strings, which is what is claimed of JCS here: there are no fractions.
STRINGS = (
    "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"\u002f",
    "\u0080",
    "\u00f6",
    "\u20ac",
    "\ufb33",
    "\U0001f600",
    "</script>",
    "\u2028\u2029",
    "a\u0301",
    "\u00e1",
    "\ufffd",
    "\uffff",
    "\U0010ffff",
)
for at, text in enumerate(STRINGS):
    TABLE.forged(
        "D22.%02d" % at,
        "the text %s as it must be spelled" % ascii(text),
        lambda made, text=text: (
            made.add(
                "session.opened",
                {"agent": "x", "inherits": [], "purpose": text + "x", "scope": forger.SCOPE},
                forger.BOB,
            )
            and None
        ),
        None,
        events=COUNT + 1,
    )
