"""Every paper that the code cites is in references.bib, under the key that the code uses."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
KEY = re.compile(r"\b[A-Z][A-Za-z]+(?:19|20)\d\d[a-z]?\b")
WITHOUT_KEY = re.compile(r"\[[^\[\]]*\b[A-Z][a-z]+[^\[\]]*[ (](?:19|20)\d\d\)?\]")
ENDINGS = {".hpp", ".cpp", ".inl", ".py", ".md"}


def known_keys() -> list[str]:
    return re.findall(r"^@\w+\{(\w+),", (ROOT / "references.bib").read_text(), flags=re.MULTILINE)


def bad_citations(text: str) -> list[str]:
    """Keys that are not in the bibliography, and citations that have none."""
    return sorted(set(KEY.findall(text)) - set(known_keys())) + WITHOUT_KEY.findall(text)


@pytest.mark.parametrize("folder", ["cpp", "src", "docs"])
def test_cited_papers_are_in_the_bibliography(folder: str) -> None:
    paths = [path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in ENDINGS]
    found = {str(path.relative_to(ROOT)): bad_citations(path.read_text()) for path in paths}
    assert {path: citations for path, citations in found.items() if citations} == {}
    assert any(KEY.search(path.read_text()) for path in paths)


def test_bad_citations_are_noticed() -> None:
    assert bad_citations("[Nobody1999, eq. 1; Glasmachers2008, eq. 4.1]") == ["Nobody1999"]
    assert len(bad_citations("// ended early [Fine and Scheinberg, Efficient SVM training, JMLR 2001].")) == 1


def test_keys_of_the_bibliography_are_unique() -> None:
    assert len(known_keys()) == len(set(known_keys())) > 20
