"""A browser that goes where it is led and shows nothing: browse.py [--refuse] URL

With --refuse its person wants no login: it comes back without having been there.
"""

import sys
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import urlopen

url = sys.argv[-1]
if "--refuse" in sys.argv:
    query = parse_qs(urlsplit(url).query)
    answer = urlencode({"error": "access_denied", "state": query["state"][0]})
    url = f"{query['redirect_uri'][0]}?{answer}"
urlopen(url, timeout=60).read()
