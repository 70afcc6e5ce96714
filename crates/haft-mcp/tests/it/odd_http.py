"""An MCP server over HTTP that answers calls as the name of the tool says."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWERS = {
    "e500": (500, "it did run", "text/plain"),
    "e400": (400, "not like this", "text/plain"),
    "e404": (404, "not here", "text/plain"),
    "e429": (429, "not now", "text/plain"),
    "page": (200, "<html>log in</html>", "text/html"),
    "neither": (200, '{"jsonrpc":"2.0","id":ID}', "application/json"),
    "told": (200, 'data: {"jsonrpc":"2.0","id":ID,"error":7}\n\n', "text/event-stream"),
}

MOVED = {"/moved": "/mcp", "/away": "http://127.0.0.2:9/mcp?token=1"}


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def say(self, status, body, kind="application/json"):
        body = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if kind != "text/event-stream":
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        # There could be more; it ends when nobody listens any more.
        self.rfile.read(1)

    def do_GET(self):
        self.say(405, "")

    def do_DELETE(self):
        self.say(200, "")

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path in MOVED:
            self.send_response(308)
            self.send_header("Location", MOVED[self.path])
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if "id" not in request:
            return self.say(202, "")
        answer = {"jsonrpc": "2.0", "id": request["id"]}
        method = request["method"]
        if method == "initialize":
            answer["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                                "serverInfo": {"name": "odd", "version": "1"}}
        elif method == "tools/list":
            bad = [{"name": "bad", "inputSchema": None}]
            answer["result"] = {"tools": bad + [
                {"name": name, "inputSchema": {"type": "object"}} for name in ANSWERS]}
        elif method == "tools/call":
            status, body, kind = ANSWERS[request["params"]["name"]]
            return self.say(status, body.replace("ID", json.dumps(request["id"])), kind)
        else:
            answer["error"] = {"code": -32601, "message": "no"}
        self.say(200, json.dumps(answer))


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
print(server.server_port, flush=True)
server.serve_forever()
