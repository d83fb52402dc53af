"""Folders as tars, in and out. What comes out was made by the policy, and is unpacked as an adversary's."""

from __future__ import annotations

import errno
import io
import json
import tarfile
from pathlib import Path, PurePosixPath
from typing import Final

from .errors import Misuse, Refused
from .exchange import own_failure

END_MARK: Final = bytes(1024)
# Of this machine's own disk. Every other error of writing comes of the names in the archive, which the policy chose.
OURS: Final = {
    errno.EACCES,
    errno.EDQUOT,
    errno.EIO,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOSPC,
    errno.EPERM,
    errno.EROFS,
}


def pack(folder: str | Path) -> bytes:
    """Files, folders and links of a folder of the trainer's own. Raises Misuse where it cannot be read."""
    packed = io.BytesIO()
    try:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for each in sorted(Path(folder).iterdir()):
                archive.add(each, arcname=each.name, filter=_carried)
    except OSError as error:
        raise Misuse(own_failure("invalid_request", f"{folder} cannot be sent: {error}", "caller")) from None
    return packed.getvalue()


def _carried(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    carried = member.isfile() or member.isdir() or member.issym() or member.islnk()
    return member if carried else None


def unpack(packed: bytes, folder: str | Path) -> list[str]:
    """Writes files and folders below a folder of the trainer's, and nothing else: a link may point anywhere, also at what a
    later entry would then overwrite. Returns the names that were left out, here and in the sandbox. Raises Refused if this is
    not an archive, because the policy made it, and Misuse if this machine has no room or right to write it."""
    if not packed.endswith(END_MARK):
        raise _refused("something in the sandbox broke it off")
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _not_written(folder, error) from None
    try:
        with tarfile.open(fileobj=io.BytesIO(packed), mode="r:") as archive:
            members = archive.getmembers()
            not_written = [member.name for member in members if not _place(archive, member, Path(folder))]
            return [*not_written, *_left_out(archive.pax_headers.get("comment", ""))]
    except OSError as error:
        if error.errno in OURS:
            raise _not_written(folder, error) from None
        raise _refused(f"it cannot be unpacked: {error}") from None
    # Headers in headers without end, numbers that no machine has: what a tar may hold, its reader does not say.
    except (tarfile.TarError, ValueError, EOFError, ArithmeticError, RecursionError) as error:
        raise _refused(f"it cannot be unpacked: {error}") from None


def _left_out(comment: str) -> list[str]:
    """What the sandbox left out of its archive. A comment of another form is the policy's."""
    try:
        report = json.loads(comment)
        return [str(each["path"]) for each in report["left_out"]]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []


def _place(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> bool:
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts:
        return False
    path = folder / name
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        return True
    # A sparse file is as large as its header says, whatever there is of it.
    if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.issparse():
        return False
    content = archive.extractfile(member)
    if content is None:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.read())
    path.chmod((member.mode & 0o777) | 0o600)
    return True


def _not_written(folder: str | Path, error: OSError) -> Misuse:
    return Misuse(own_failure("invalid_request", f"{folder} cannot be written here: {error}", "caller"))


def _refused(what: str) -> Refused:
    return Refused(
        own_failure("invalid_request", f"the archive of the sandbox is no whole one: {what}", "model")
    )
