"""A whole handoff through the official Python SDK of the Model Context Protocol.

usage: foreign.py HANDOFF MODE, in a folder with a ledger; MODE is how the SDK greets the server:
`legacy` (initialize) or `auto` (server/discover first).
"""

import asyncio
import json
import sys
from pathlib import Path

from mcp import Client, MCPError, StdioServerParameters

HANDOFF, MODE = sys.argv[1], sys.argv[2]
CHARACTERS_MAX = 16_000


def check(holds, told):
    if not holds:
        raise AssertionError(told)


def server():
    return Client(StdioServerParameters(command=HANDOFF, args=["mcp"]), mode=MODE)


async def call(client, tool, **arguments):
    """The document of a call, its exit, and whether it is an error."""
    result = await client.call_tool(tool, arguments)
    document = result.structured_content
    check(document["schema"].startswith("handoff."), document)
    texts = [block.text for block in result.content]
    check(all(len(text) <= CHARACTERS_MAX for text in texts), tool)
    check(len(json.dumps(document, ensure_ascii=False, separators=(",", ":"))) <= CHARACTERS_MAX, tool)
    check(bool(result.is_error) == ("error" in document), document)
    return document, document["exit"], texts[0]


async def yes(client, tool, **arguments):
    document, exit, _ = await call(client, tool, **arguments)
    check(exit == 0, document)
    return document


async def first():
    async with server() as client:
        check("can says" in client.instructions, client.instructions)
        tools = (await client.list_tools()).tools
        check(len(tools) == 14, [tool.name for tool in tools])
        session = (await yes(client, "resume", agent="builder"))["session"]
        await yes(client, "axis", name="db.host", session=session, argv=["cat", "db-host"],
                  **{"class": "reachability"})
        await yes(client, "axis", name="os", session=session, check="os",
                  **{"class": "execution_topology"})
        await yes(client, "claim", id="db-safe", statement="the database is the stage's",
                  session=session, needs=["db.host"], expect=["value=stage"],
                  argv=["cat", "db-host"])
        await yes(client, "flag", id="built", statement="the build is there", needs=["os"],
                  because="the makefile says so", session=session, expect=["value=done"],
                  argv=["cat", "build.txt"])
        _, exit, _ = await call(client, "claim", id="unproved", statement="it is so",
                                session=session, needs=["os"], expect=["value=7"],
                                argv=["echo", "8"])
        check(exit == 1, "an expectation that is not met proves nothing")
        # At the same time: one probe sleeps, twenty do not wait for it.
        slow = asyncio.create_task(call(client, "probe", session=session, argv=["sleep", "1"],
                                        exit_only=True))
        quick = [yes(client, "probe", session=session, argv=["echo", str(number)],
                     expect=[f"value={number}"]) for number in range(20)]
        seqs = {document["seq"] for document in await asyncio.gather(*quick)}
        check(len(seqs) == 20, seqs)
        check((await slow)[1] == 0, "the slow one")
        await yes(client, "ambient", none=True, session=session)
        await yes(client, "seal", session=session)


async def second():
    Path("db-host").write_text("production\n")
    Path("build.txt").write_text("done\n")
    async with server() as client:
        document, exit, text = await call(client, "resume", agent="deployer", require=["db-safe"])
        check(exit == 1 and document["required_missing"] == ["db-safe"], document)
        check("BLOCKED" in text, text)
        session = document["session"]
        document, exit, _ = await call(client, "can", claims=["db-safe"], session=session)
        check(exit == 1 and not document["claims"][0]["admissible"], document)
        await yes(client, "promote", id="built", needs=["os"], session=session)
        await yes(client, "can", claims=["built"], session=session)
        read = await client.read_resource("handoff://state")
        state = json.loads(read.contents[0].text)
        check({claim["claim"] for claim in state["claims"]} >= {"db-safe", "built"}, state)
        await yes(client, "brief", session=session)
        check((await yes(client, "verify"))["result"] == "verified", "verify")
        # Wrong arguments are an answer to the model; an unknown tool is an error of the protocol.
        document, exit, _ = await call(client, "can", claims="db-safe", session=session)
        check(exit == 2, document)
        try:
            await client.call_tool("no-such-tool", {})
        except MCPError as error:
            check(error.code == -32602, error)
        else:
            raise AssertionError("an unknown tool is called")
        # Given up by the client, which tells the server so.
        task = asyncio.create_task(call(client, "probe", session=session, argv=[
            "sh", "-c", "echo $$ > pid; exec sleep 600"], timeout="5m"))
        while not (Path("pid").exists() and Path("pid").read_text().endswith("\n")):
            await asyncio.sleep(0.01)
        process = Path("/proc") / Path("pid").read_text().strip()
        check(process.exists(), "the probe runs")
        task.cancel()
        for _ in range(3000):
            if not process.exists():
                break
            await asyncio.sleep(0.01)
        check(not process.exists(), "the probe lives on")
        Path("pid").unlink()
        await yes(client, "ambient", none=True, session=session)
        await yes(client, "seal", session=session)


asyncio.run(first())
asyncio.run(second())
print("the whole story was told")
