"""Executes a notebook and turns it into HTML. Prints JSON of what its cells showed.

With a file as argument, that HTML is left there, to be looked at."""

import json
import re
import sys

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter

PATIENCE_S = 600

CELLS = ["""%load_ext stepscope
import time, stepscope, torch""", """def decode(count):
    while time.perf_counter() < end:
        pass
    return torch.ones(count, 8)""", """net = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

def train(batch):
    optimizer.zero_grad()
    net(batch).sum().backward()
    optimizer.step()""", """%%stepscope slow
for _ in range(300):
    with stepscope.stage("data"):
        end = time.perf_counter() + 0.01
        batch = decode(4)
    train(batch)""", """import json
run = stepscope.directory()
print(json.dumps(stepscope.load()))""", """%%stepscope
1 / 0""", """stepscope.summary(run)"""]
SLOW, LOADED, FAILED, SHOWN = range(3, 7)


def executed():
    cells = [nbformat.v4.new_code_cell(text) for text in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, timeout=PATIENCE_S, allow_errors=True).execute()
    return notebook


def plain(lines):
    """Without colours."""
    return re.sub("\x1b\\[[0-9;]*m", "", "\n".join(lines))


def shown(cell):
    """Of the output that has HTML, all forms."""
    return next(dict(output.data) for output in cell.outputs
                if "text/html" in output.get("data", {}))


def main():
    notebook = executed()
    page, _ = HTMLExporter().from_notebook_node(notebook)
    for file in sys.argv[1:]:
        with open(file, "w", encoding="utf-8") as out:
            out.write(page)
    cells = notebook.cells
    print(json.dumps({
        "magic": shown(cells[SLOW]), "slow_number": cells[SLOW].execution_count,
        "report": json.loads(cells[LOADED].outputs[0].text),
        "failed": [output.output_type for output in cells[FAILED].outputs],
        "failed_number": cells[FAILED].execution_count,
        "tracebacks": [plain(output.traceback) for output in cells[FAILED].outputs],
        "summary": shown(cells[SHOWN]), "page": page}))


main()
