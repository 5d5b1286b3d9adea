"""Makes a failing program smaller: pieces are left out while it fails in the same way."""


def reduce(document, fails, limit=2000):
    """The largest set of pieces found that can go; `fails(files)` says whether the rest still shows the fault.

    Ever smaller runs of neighbouring pieces are tried (Zeller's ddmin, without its complements: a piece
    takes along whatever uses it, so large steps mostly succeed early).
    """
    removed, tried = frozenset(), {}

    def still_fails(candidate):
        files = document.files(candidate)
        key = tuple(sorted(files.items()))
        if key not in tried:
            tried[key] = len(tried) < limit and fails(files)
        return tried[key]

    progress = True
    while progress:
        progress = False
        size = len(rest(document, removed))
        while size:
            left, position = rest(document, removed), 0
            while position < len(left):
                candidate = removed | set(left[position:position + size])
                if still_fails(candidate):
                    removed, progress = frozenset(candidate), True
                    left = rest(document, removed)
                else:
                    position += size
            size //= 2
    return removed


def rest(document, removed):
    """The pieces that may still go, in order."""
    live = document.live(removed)
    return [number for number in document.removable if number in live]
