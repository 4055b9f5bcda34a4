"""Stands for the process of a side: answers, fails, dies or says whose child it is. Executed by tests."""

import json
import os
import socket
import subprocess
import sys


def main() -> None:
    with socket.socket(fileno=int(sys.argv[1])) as line, line.makefile("rwb") as lines:
        for question in lines:
            asked = json.loads(question)
            match asked["what"]:
                case "echo":
                    answer = {"heard": asked["arguments"], "python": os.environ["PYSPARK_PYTHON"]}
                case "child":
                    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
                    answer = {"pid": child.pid}
                case "fail":
                    answer = {"error": "ValueError: not today"}
                case _:
                    print("my last words", flush=True)
                    os._exit(3)
            lines.write(json.dumps(answer).encode() + b"\n")
            lines.flush()


if __name__ == "__main__":
    main()
