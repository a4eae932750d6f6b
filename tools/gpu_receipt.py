"""Says in a line whether the committed receipt of the GPU tests is of these sources. Never fails."""

import json

from device_hash import RECEIPT, ROOT, device_hash


def state(receipt, current_hash):
    """The line for a receipt, or for none."""
    if receipt is None:
        return "GPU receipt: none; ./mk gpu-tests writes it where there is a GPU"
    tests = receipt["tests"]
    what = f"{tests['passed']} tests on {receipt['card']}, driver {receipt['driver']}, {receipt['date'][:10]}"
    if receipt["device_sources"] != current_hash:
        return f"GPU receipt: stale: device sources changed since ({what})"
    if receipt["status"] != "passed":
        return f"GPU receipt: FAILED: {tests['failed']} failed, {what}"
    return f"GPU receipt: current, {what}"


def main():
    try:
        path = ROOT / RECEIPT
        print(state(json.loads(path.read_text()) if path.exists() else None, device_hash()))
    except (ValueError, KeyError, TypeError) as error:
        print(f"GPU receipt: unreadable: {error}")


if __name__ == "__main__":
    main()
