"""Brings the programs at their commits: from GitHub, or from a local checkout."""

import io
import shutil
import subprocess
import tarfile
from pathlib import Path


def git(*arguments, **options):
    done = subprocess.run(["git", *map(str, arguments)], capture_output=True, **options)
    if done.returncode != 0:
        raise RuntimeError(f"git {arguments[0]}: {done.stderr.decode(errors='replace').strip()[-500:]}")
    return done.stdout


def clone(repository, roots, cache):
    """The repository's files below `roots` at its commit, fetched once. Other files are never asked for."""
    folder = cache / f"{repository.name}-{repository.commit[:12]}"
    wanted = sorted(roots)
    done = folder / ".fetched"
    if done.exists() and set(wanted) <= set(done.read_text().split()):
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    here = {"cwd": folder}
    git("init", "-q", **here)
    git("remote", "add", "origin", repository.url, **here)
    git("sparse-checkout", "set", "--no-cone", *[f"/{root}/" for root in wanted], **here)
    git("fetch", "-q", "--depth=1", "--filter=blob:none", "origin", repository.commit, **here)
    git("checkout", "-q", "FETCH_HEAD", **here)
    done.write_text("\n".join(wanted))
    return folder


def extract(checkout, commit, root, into):
    """Puts a checkout's folder `root` there: from its history if it has one, else as it lies."""
    if (checkout / ".git").exists() or (checkout / "HEAD").exists():
        folder = checkout / ".git" if (checkout / ".git").exists() else checkout
        tar = git("--git-dir", folder, "archive", commit, root)
        members = tarfile.open(fileobj=io.BytesIO(tar))
        for member in members.getmembers():
            if member.isfile() and Path(member.name).is_relative_to(root):
                target = into / Path(member.name).relative_to(root)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(members.extractfile(member).read())
    else:
        shutil.copytree(checkout / root, into, dirs_exist_ok=True)


def apply_edits(name, edits, folder):
    for edit in edits:
        path = folder / edit.file
        text = path.read_bytes()
        if text.count(edit.old.encode()) != 1:
            raise RuntimeError(f"{name}: {edit.file} has {text.count(edit.old.encode())} times '{edit.old}' and not once")
        path.write_bytes(text.replace(edit.old.encode(), edit.new.encode()))


def fetch(program, all_programs, folder, cache, sources):
    """The program's files, edited, in `folder`. `sources` maps repositories' names to local checkouts."""
    repository = program.repository
    checkout = sources.get(repository.name)
    if checkout is None:
        roots = {other.root for other in all_programs if other.repository == repository}
        checkout = clone(repository, roots, cache)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    extract(Path(checkout), repository.commit, program.root, folder)
    if program.only:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and str(path.relative_to(folder)) not in program.only:
                path.unlink()
    missing = [name for name in (*program.sources, *program.inputs) if not (folder / name).is_file()]
    if missing:
        raise RuntimeError(f"{program.name}: no {missing[0]} in {checkout}")
    apply_edits(program.name, program.edits, folder)
