"""FastMCP as a proxy: `fastmcp_proxy.py PORT COMMAND ARG...` serves a stdio server at /mcp."""

import sys

from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy

port, command, *args = sys.argv[1:]
proxy = create_proxy(StdioTransport(command=command, args=args), name="proxy")
proxy.run(
    transport="http",
    host="127.0.0.1",
    port=int(port),
    path="/mcp",
    log_level="error",
    show_banner=False,
)
