"""An MCP server that tells what it was given."""

import json
import os
import sys

TOOLS = [
    {
        "name": "variable",
        "description": "Tell a variable and its length",
        "inputSchema": {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
        },
    }
]


def result(request):
    if request["method"] == "initialize":
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "telling", "version": "1"},
        }
    if request["method"] == "tools/list":
        return {"tools": TOOLS}
    if request["method"] == "tools/call":
        value = os.environ.get(request["params"]["arguments"]["name"], "")
        text = f"[{value}] {len(value)} characters"
        return {"content": [{"type": "text", "text": text}]}
    return None


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    answer = {"jsonrpc": "2.0", "id": request["id"]}
    given = result(request)
    if given is None:
        answer["error"] = {"code": -32601, "message": "unknown method"}
    else:
        answer["result"] = given
    print(json.dumps(answer), flush=True)
