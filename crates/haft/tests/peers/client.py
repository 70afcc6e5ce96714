"""An unmodified client of the official Python SDK: client.py HAFT ARGS…"""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main():
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ))
    async with stdio_client(server) as (reader, writer):
        async with ClientSession(reader, writer) as session:
            await session.initialize()
            tools = await session.list_tools()
            result = await session.call_tool("file__read", {"path": "README.md"})
            print(json.dumps({"tools": [tool.name for tool in tools.tools],
                              "text": result.content[0].text}))


asyncio.run(main())
