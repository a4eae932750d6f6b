"""What no file of the repository may hold: paths and hosts of one machine, notes to self; and what each header must."""

import os
import pathlib
import re
import urllib.parse

from repository import files, lines, report, sources, text

# Written apart, so that this file does not hold them.
NOTES = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")) + r")\b")
MACHINE_PATH = re.compile(r"(?<![\w.$}>-])/(home/\w|root/\w|work/\w|Users/\w|tmp/\w|mnt/\w)")
URL = re.compile(r"[a-z]+://([\w.-]+)")
PUBLIC_HOSTS = ("apache.org", "arxiv.org", "nvidia.com", "github.com", "huggingface.co", "w3.org", "cmake.org",
                "unicode.org")


def package_hosts():
    """The hosts that this machine is set up to take packages from: nothing of the project may depend on them."""
    sources_of_hosts = [pathlib.Path("/etc/pip.conf"), pathlib.Path("/etc/apt/sources.list"),
                        *pathlib.Path("/etc/apt").glob("sources.list.d/*")]
    settings = [path.read_text(errors="replace") for path in sources_of_hosts if path.is_file()]
    settings += [value for name, value in os.environ.items() if name.startswith("PIP_")]
    urls = re.findall(r"https?://[^\s'\"]+", "\n".join(settings))
    return {host for host in (urllib.parse.urlsplit(url).hostname for url in urls) if host and "." in host}


def is_public(host):
    return any(host == public or host.endswith("." + public) for public in PUBLIC_HOSTS)


def problems():
    hosts = package_hosts()
    for path in files():
        if path.name == "LICENSE" or path.parts[:2] == ("tests", "golden"):
            continue
        for number, line in lines(path):
            if NOTES.search(line):
                yield f"{path}:{number}: a note to self"
            if MACHINE_PATH.search(line):
                yield f"{path}:{number}: a path of one machine"
            for host in URL.findall(line):
                if not is_public(host):
                    yield f"{path}:{number}: the host {host} is not one of {', '.join(PUBLIC_HOSTS)}"
            if any(host in line for host in hosts):
                yield f"{path}:{number}: a host that this machine takes packages from"
    for path in sources():
        if path.suffix in (".hpp", ".cuh") and not text(path).startswith("#pragma once\n"):
            yield f"{path}:1: a header starts with #pragma once"


report(list(problems()))
