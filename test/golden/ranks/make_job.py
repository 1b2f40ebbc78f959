#!/usr/bin/env python3
"""Writes the profile of a fictitious job of 4 ranks: make_job.py slow|often|cpu|fetch|sleeps|spins|even|short|waited > NAME.txt

The job has 16 slices of 100 ms with 10 steps each. Advance, relax and the CPU take 20 ms of a slice each, collectives
the rest. From slice 5 on, rank 2 needs twice as long in relax (slow), runs it twice as often (often), or needs 20 ms
more before its launch (cpu, fetch). In the job fetch, CPU samples say why: it computes for 14 ms more in fetch, called by
its own code, and sleeps for 6 ms more. The device is idle for 5 s until the job starts. The short job has 4 slices.
In the job sleeps, it sleeps for all of that time in fetch. In the job spins, there are two ranks, and rank 1 is late as in fetch. Meanwhile rank 0 polls in the driver for as long, and its kernels
take longer, because the waiting collective runs beside them. In the job waited, rank 0 begins 2 s early, and waits for the others in its first collective.
"""

import sys

SLICES, STEPS, MS = 16, 10, 1_000_000
KERNELS = ("advance", "relax", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)")
FRAMES = ("main", "step(Rank const&)", "transport(Rank const&)", "smooth(Rank const&)", "all_reduce(Rank const&)")


def main():
    kind = sys.argv[1]
    slices = 4 if kind == "short" else SLICES
    sampled = kind in ("fetch", "sleeps", "spins")
    ranks, late_rank = (2, 1) if kind == "spins" else (4, 2)
    out = ["GPUPROF;3.5" if sampled else "GPUPROF;3.2", "META;interval_ns;100000000", "META;host;node1", "META;start_ns;1000000000"]
    texts = ["opencl", "GPU", "app", "app.cpp", *KERNELS, *FRAMES]
    number = {text: i + 1 for i, text in enumerate(texts)}
    out += [f"STRING;{i};{text}" for text, i in number.items()]
    out.append(f"DEVICE;1;{number['opencl']};0;{number['GPU']};0")
    for i, frame in enumerate(FRAMES):
        out.append(f"FRAME;{i + 1};native;{number[frame]};{number['app.cpp']};{10 * (i + 1)};{number['app']};0;0x{i + 1}")
    out += [f"USTACK;{i + 1};1;2;{i + 3}" for i in range(3)]
    if sampled:
        out += [f"STRING;{60 + i};{text}" for i, text in enumerate(("fetch(Rank const&)", "decode(int)", "/usr/lib/libjpeg.so", "sleeps"))]
        out += [f"FRAME;6;native;60;{number['app.cpp']};77;{number['app']};0;0x6",
                "FRAME;7;native;61;0;0;62;0;0x7", f"FRAME;8;native;60;{number['app.cpp']};78;{number['app']};0;0x8"]
        out += ["USTACK;4;1;2;6;7", "USTACK;5;1;2;8", "USTACK;6;1;2"]
    if kind == "spins":
        out += ["STRING;70;cuStreamSynchronize", "STRING;71;/usr/lib/libcuda.so.1", "STRING;72;clock_gettime", "STRING;73;/usr/lib/libc.so.6",
                "FRAME;9;native;70;0;0;71;0;0x9", "FRAME;10;native;72;0;0;73;0;0xa", "USTACK;7;1;2;5;9;10"]
    rows, total, count = [], 0, 0
    for rank in range(ranks):
        out.append(f"STRING;{50 + rank};{rank}")
        out.append(f"PROCESS;{rank + 1};{100 + rank};1;1;{number['app']};0;{50 + rank};0")
        for i, kernel in enumerate(KERNELS):
            out.append(f"WORK;{10 * rank + i + 1};{rank + 1};{100 + rank};0;{i + 1};0;0;0;1;{i + 1};kernel;{number[kernel]};0")
        if sampled:
            out += [f"WORK;{100 + 10 * rank + i};{rank + 1};{100 + rank};0;{i + 4};0;0;0;0;0;cpu;0;0" for i in range(3)]
            if kind == "spins":
                out.append(f"WORK;{104 + 10 * rank};{rank + 1};{100 + rank};0;7;0;0;0;0;0;cpu;0;0")
            out.append(f"WORK;{103 + 10 * rank};{rank + 1};{100 + rank};0;{5 if kind == 'sleeps' else 0};0;0;0;0;0;off_cpu;63;0")
        for piece in range(slices):
            late = 20 if rank == late_rank and piece >= 5 else 0
            beside = 6 if kind == "spins" and rank != late_rank and piece >= 5 else 0
            relax = 20 + (late if kind in ("slow", "often") else 0)
            idle = 20 + (late if kind == "cpu" or sampled else 0)
            jitter = (7 * piece + 3 * rank) % 5 * 100_000
            for i, ns in enumerate(((20 + beside) * MS, relax * MS, (80 - relax - idle + 3 * beside) * MS - jitter)):
                runs = STEPS * (2 if late and kind == "often" and i == 1 else 1)
                each = ns // runs
                waits = 2000 * MS if kind == "waited" and rank == piece == 0 and i == 2 else 0
                ns += waits
                squares = each * each * (runs - 1) + (each + waits) ** 2
                rows.append(f"GPU;{piece + 2};{10 * rank + i + 1};{runs};{ns};{each};{each + waits};{squares};0;0")
                total += ns
                count += runs
            if beside:
                rows.append(f"HOST;{piece + 2};{104 + 10 * rank};1;{14 * MS};{14 * MS};{14 * MS};0")
            if sampled:
                computes = 0 if kind == "sleeps" else late
                for i, ms in enumerate((4 + computes * 6 // 10, 1 + computes // 10, 5, 2 + late - computes * 7 // 10)):
                    rows.append(f"HOST;{piece + 2};{100 + 10 * rank + i};1;{ms * MS};{ms * MS};{ms * MS};0")
            rows.append(f"IDLE;{piece + 2};1;{10 * rank + 2};{(idle + (0 if piece else 5000)) * MS}")
    print("\n".join(out + rows + [f"END;9;{count};{count};{total};0;0;0"]))


if __name__ == "__main__":
    main()
