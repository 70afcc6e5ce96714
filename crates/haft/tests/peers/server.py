"""A server of the official Python SDK."""

from mcp.server import MCPServer

server = MCPServer("python")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers"""
    return a + b


@server.resource("note://one")
def note() -> str:
    """A note"""
    return "written in Python"


@server.prompt()
def greet(name: str) -> str:
    """Greet somebody"""
    return f"Say hello to {name}."


server.run(transport="stdio")
