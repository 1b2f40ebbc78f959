"""Boots a virtual machine with a Debian suite's kernel, in which fake drivers replace some GPU drivers."""

import lzma
import shutil
import struct
import subprocess
import tempfile
import time
from pathlib import Path

import vm

HERE = Path(__file__).resolve().parent
BOOT_SECONDS = 1200  # limit for QEMU without KVM on a busy machine; three minutes on an idle one
# Newer header packages contain programs. If this machine's C library is too old for them, they run with these libraries.
LIBRARIES = ["libc6", "libelf1t64", "zlib1g", "libzstd1"]
COMPILER = "gcc-12"

LOAD_MODULES = r"""
section bare
/gpuprof doctor 2>&1
section insmod
for module in $(/bin/busybox cat /modules/order); do
  /bin/busybox insmod /modules/$module.ko || echo "cannot load $module"
done
section doctor
/gpuprof doctor 2>&1
section loaded
/bin/busybox sh -c 'until [ -s /tmp/loaded ]; do /bin/busybox sleep 0.2; done; /bin/busybox rmmod i915' 2>&1 &
/gpuprof record -o /tmp/loaded --backend drm -- /bin/busybox sleep 3
wait
section swap
for module in i915 xe; do
  [ ! -e /sys/module/$module ] || /bin/busybox rmmod $module || echo "cannot unload $module"
done
for module in /fake/*.ko; do /bin/busybox insmod $module || echo "cannot load $module"; done
"""
# Loads only xe, i915 and vgem, and the modules that the fake drivers need.
LOAD_FAKES = r"""
section swap
for module in $(/bin/busybox cat /modules/order); do
  case $module in xe|i915|vgem) ;; *) /bin/busybox insmod /modules/$module.ko || echo "cannot load $module" ;; esac
done
for module in /fake/*.ko; do /bin/busybox insmod $module || echo "cannot load $module"; done
"""


def timed(what, begin):
    print(f"    {what}: {time.monotonic() - begin:.1f} s", flush=True)
    return time.monotonic()


def kernel_and_headers(archive):
    """Returns (release, folder of the kernel's package, folder of the headers' package)."""
    try:
        archive.update()
        release, image = vm.newest_kernel(archive)
        headers = archive.folder / f"headers-{release}"
        first = f"linux-headers-{release}"
        for package in (first, archive.depended(first, r"linux-headers-\S+-common"),
                        archive.depended(first, r"linux-kbuild-[0-9][^\s,]*")):
            archive.unpacked(package, headers)
    except subprocess.CalledProcessError as error:
        raise vm.Skipped(f"no packages of {archive.folder.name}: {error.output.strip().splitlines()[-1]}") from error
    return release, image, headers


def make_runnable(archive, headers):
    """Gives programs of the headers' packages the C library of their suite, if this machine's is too old."""
    for program in headers.glob("usr/lib/linux-kbuild-*/**/*"):
        if program.is_symlink() or not program.is_file() or program.suffix == ".elf":
            continue
        with open(program, "rb") as file:
            if file.read(4) != b"\x7fELF":
                continue
        found = subprocess.run(["ldd", str(program)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if b"not found" not in found.stdout:
            continue
        for package in LIBRARIES:
            archive.unpacked(package, archive.folder / "libraries")
        folder = archive.folder / "libraries/usr/lib/x86_64-linux-gnu"
        binary = program.with_name(program.name + ".elf")
        program.rename(binary)
        program.write_text(f'#!/bin/sh\nexec {folder}/ld-linux-x86-64.so.2 --library-path {folder} {binary} "$@"\n')
        program.chmod(0o755)


def kernel_with_types(tree, image, folder):
    """Returns a file with the kernel's BTF, which newer header packages contain."""
    if (tree / "vmlinux").exists():
        return tree / "vmlinux"
    packed = next(image.rglob("vmlinuz*")).read_bytes()
    # By the boot protocol, setup sectors come first, and a header has the offset of the compressed ELF file.
    sectors, (offset, length) = packed[0x1F1], struct.unpack_from("<II", packed, 0x248)
    start = (sectors + 1) * 512 + offset
    whole = folder / "vmlinux"
    whole.write_bytes(lzma.LZMADecompressor().decompress(packed[start : start + length]))
    return whole


def build_modules(headers, image, release, folder):
    """Returns {file: content} of the fake drivers, built with the unpacked headers."""
    tree = headers / f"usr/src/linux-headers-{release}"
    makefile = folder / "headers.mk"
    makefile.write_text((tree / "Makefile").read_text().replace("/usr/src", str(headers / "usr/src")))
    for source in HERE.glob("fake_*.[ch]"):
        (folder / source.name).write_text(source.read_text())
    # The fake i915 and xe need the real module names: the backend reads the types of the modules with these names.
    modules = ["fake_gpu", "i915"]
    kbuild = "obj-m := fake_gpu.o i915.o\ni915-y := fake_i915.o\nccflags-y := -I$(src)\n"
    if list(headers.glob("usr/src/*/include/uapi/drm/xe_drm.h")):
        modules.append("xe")
        kbuild += "obj-m += xe.o\nxe-y := fake_xe.o\n"
    (folder / "Kbuild").write_text(kbuild)
    # The kernel may have options that need a newer compiler or pahole than this machine has. So two options are off here.
    vm.run(["make", "-C", str(tree), "-f", str(makefile), f"M={folder}", f"CC={COMPILER}", "CROSS_COMPILE=",
            "CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT=", "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"])
    types = kernel_with_types(tree, image, folder)
    for name in modules:
        vm.run(["pahole", "-J", "--btf_base", str(types), str(folder / f"{name}.ko")])
    return {f"{name}.ko": (folder / f"{name}.ko").read_bytes() for name in modules}


def run(suite, programs, script, qemu=(), seconds=BOOT_SECONDS, more_files=None, load=LOAD_MODULES):
    """Runs a machine and returns {section: lines}. `script` gets the names of the fake drivers and runs once
    they are loaded. `more_files`: {name in /: bytes}. `load`: the script that loads the drivers."""
    reason = vm.missing_tools(["make", COMPILER, "strip", "pahole"])
    if reason:
        raise vm.Skipped(reason)
    begin = time.monotonic()
    with vm.cache_to_itself():
        archive = vm.Archive(vm.cache_folder(), vm.debian_mirror(), suite)
        release, image, headers = kernel_and_headers(archive)
        make_runnable(archive, headers)
    begin = timed(f"packages of {release}", begin)
    with tempfile.TemporaryDirectory(prefix="gpuprof-drm.") as name:
        folder = Path(name)
        (folder / "module").mkdir()
        fakes = build_modules(headers, image, release, folder / "module")
        begin = timed("fake drivers", begin)
        modules = vm.Modules(image)
        # vgem provides a card without a scheduler.
        modules = modules.with_needed([module for module in ("gpu_sched", "vgem", "xe", "i915") if module in modules.files])
        files = dict(more_files or {})
        files |= {f"modules/{module}.ko": content for module, content in modules.items()}
        files |= {f"fake/{name}": content for name, content in fakes.items()}
        files["modules/order"] = "\n".join(modules).encode()
        files["bin/sh"] = Path(shutil.which("busybox")).read_bytes()
        files["etc/passwd"] = b"root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n"
        files["etc/group"] = b"root:x:0:\nnogroup:x:65534:\n"
        initrd = folder / "initrd.gz"
        vm.make_initrd(initrd, vm.SECTIONS + load + script({name.removesuffix(".ko") for name in fakes}) + "section end\n",
                       programs, files)
        begin = timed("initial RAM disk", begin)
        output = vm.boot(next(image.rglob("vmlinuz*")), initrd, seconds, qemu)
        timed("boot and run", begin)
    return vm.sections_in(output)
