"""PyTorch's figures for what mk-bench-tylo measures: python3 torch_rows.py > baselines.json, then
mk-bench-tylo --baselines baselines.json, on the same GPU one after the other."""

import json

import torch
import torch.nn.functional as F


def gbytes_per_second(work, x, runs=20, calls=20):
    """The median rate of bytes read and written by `calls` calls in a row."""
    for _ in range(3):
        work(x)
    rates = []
    for _ in range(runs):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(calls):
            work(x)
        end.record()
        end.synchronize()
        rates.append(2 * x.nbytes * calls / start.elapsed_time(end) * 1e-6)
    return sorted(rates)[runs // 2]


def main():
    found = {}
    for rows, columns in [(8192, 1024), (8192, 8192), (4096, 32768)]:
        x = torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16)
        rate = gbytes_per_second(lambda t: F.softmax(t, dim=-1), x)
        found[f"softmax/bf16/{rows}x{columns}"] = {"pytorch": rate}
    x = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    found["rms_norm/bf16/8192x8192"] = {"pytorch": gbytes_per_second(lambda t: F.rms_norm(t, (8192,), eps=1e-5), x)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
