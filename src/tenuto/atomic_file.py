"""Replace files as a whole: readers see the old content or the new, never a part of it.

What is new is written to `.NAME.PID.part` in the same directory, and one rename puts it in its place. A process that is
killed before the rename leaves that file; its name says which process wrote it, so that `remove_leftovers` can delete
it after the end of that process and never under a writer that lives.

Standard library only, and without pathlib: a shim that imports this must start within milliseconds.
"""

from __future__ import annotations

import os

_MARK = ".part"


def temporary_name(path: str, suffix: str = "") -> str:
    """Where this process writes what shall replace `path`; with a suffix for libraries that go by it."""
    directory, name = os.path.split(path)
    return os.path.join(directory, f".{name}.{os.getpid()}{_MARK}{suffix}")


def replace_file(path: str, content: bytes, *, mode: int = 0o600, durable: bool = False) -> None:
    """Replace a file, or make it with these permissions; `durable` lets it survive a loss of power.

    The directory may be one that a worker can write to, so what stands in the way is moved or removed and never
    opened: a pipe would block, a link would lead elsewhere. Raises OSError; the old file is then as it was.
    """
    temporary = temporary_name(path)
    clear_away(temporary)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if durable:
                os.fsync(descriptor)
        os.replace(temporary, path)
    except BaseException:
        _remove(temporary)
        raise
    if durable:
        _flush_directory(os.path.dirname(path) or ".")


def clear_away(path: str) -> None:
    """Remove whatever has this name. A directory is only renamed, because deleting it may take long. Raises OSError."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):
        os.rename(path, f"{path}.{os.urandom(4).hex()}.obstacle")


def is_temporary(name: str) -> bool:
    """Whether a file of this name holds what has not taken its place yet, or never will."""
    return _writer_of(name) is not None


def remove_leftovers(directory: str, *, below: bool = False) -> int:
    """Delete temporary files of processes that have ended, with `below` in all subdirectories, too; returns how many.

    Symbolic links are not followed. What cannot be read or deleted stays.
    """
    removed = 0
    waiting = [directory]  # no recursion: directories can be nested more deeply than Python calls
    while waiting:
        for entry in _entries(waiting.pop()):
            writer = _writer_of(entry.name)
            is_directory = entry.is_dir(follow_symlinks=False)
            if writer is not None and not _lives(writer):
                removed += _remove(entry.path, is_directory=is_directory)
            elif below and is_directory:
                waiting.append(entry.path)
    return removed


def _entries(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError:
        return []


def _writer_of(name: str) -> int | None:
    """The id of the process that a temporary file's name tells; None for other names."""
    before, mark, suffix = name.rpartition(_MARK)
    number = before.rpartition(".")[2]
    if not (mark and name.startswith(".") and number.isascii() and number.isdecimal()):
        return None
    return int(number) if not suffix or suffix.startswith(".") else None


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _remove(path: str, *, is_directory: bool = False) -> bool:
    try:
        if is_directory:
            import shutil  # rarely needed, and slow to load

            shutil.rmtree(path)
        else:
            os.unlink(path)
    except OSError:
        return False
    return True


def _flush_directory(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
