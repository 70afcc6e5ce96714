"""ContextForge in front of a server on HTTP, at /mcp.

`contextforge.py PORT TOKEN COMMAND ARG...`: `BACKEND` among the arguments stands for a free port, at
whose /mcp the command serves; the token that clients bring is written to the file TOKEN.
"""

import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ADMIN = "bench@example.com"
PATIENCE = 150


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def eventually(what):
    """The first answer of a server that is still starting."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return what()
        except (urllib.error.URLError, OSError) as error:
            if time.monotonic() > end:
                told = getattr(error, "read", bytes)()
                raise SystemExit(f"not there: {error}: {told}")
            time.sleep(0.2)


def main():
    port, token_file, *command = sys.argv[1:]
    backend = str(free_port())
    # All of it ends with this process group.
    subprocess.Popen([word.replace("BACKEND", backend) for word in command])
    key = secrets.token_hex(32)
    folder = tempfile.mkdtemp()
    settings = {
        "DATABASE_URL": f"sqlite:///{folder}/gateway.db",
        "JWT_SECRET_KEY": key,
        "AUTH_ENCRYPTION_SECRET": secrets.token_hex(32),
        "PLATFORM_ADMIN_EMAIL": ADMIN,
        "PLATFORM_ADMIN_PASSWORD": secrets.token_hex(12) + "-A1",
        "DEFAULT_USER_PASSWORD": secrets.token_hex(12) + "-A1",
        "BASIC_AUTH_PASSWORD": secrets.token_hex(12) + "-A1",
        "SSRF_ALLOW_LOCALHOST": "true",
        "SSRF_ALLOW_PRIVATE_NETWORKS": "true",
        "RATE_LIMITING_ENABLED": "false",
        "TOOL_RATE_LIMIT": "1000000",
        "LOG_LEVEL": "ERROR",
    }
    os.environ.update(settings)
    os.chdir(folder)
    token = subprocess.check_output(
        [sys.executable, "-m", "mcpgateway.utils.create_jwt_token"]
        + ["--username", ADMIN, "--exp", "10080", "--secret", key, "--admin"],
        text=True,
    ).strip()
    gateway = subprocess.Popen(
        [sys.executable, "-m", "uvicorn", "mcpgateway.main:app", "--host", "127.0.0.1"]
        + ["--port", port, "--log-level", "error"]
    )

    def register():
        body = {
            "name": "echo",
            "url": f"http://127.0.0.1:{backend}/mcp",
            "transport": "STREAMABLEHTTP",
        }
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/gateways",
            json.dumps(body).encode(),
            {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        return urllib.request.urlopen(request, timeout=60).read()

    print(eventually(register), file=sys.stderr)
    with open(token_file, "w") as file:
        file.write(token)
    gateway.wait()


main()
