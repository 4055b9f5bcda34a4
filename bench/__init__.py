"""Benchmarks: `python -m bench NAME [--quick] [--json] [--keep] [--out DIR]`, and `all`, `page`, `status`.

Each benchmark puts Penstock beside its peers on the same work in one run, and judges ratios, because absolute
times on one machine say little about another. A benchmark is a module with `run(settings) -> Outcome`, named in
`bench.catalogue`.

    __main__   arguments
    catalogue  the table of benchmarks
    settings   what a benchmark is given
    report     what it returns: figures, goals, tables; shown on a terminal, as Markdown, as one line of JSON
    results    its last report, kept in git; `results/NAME.json`
    page       docs/benchmarks.md, made of what is kept and of `page.md` of each benchmark
    status     what is kept, and how often the data plane has changed since
    series     all benchmarks, one after another
    history    what git knows of the code that is measured
    machine    what the figures were measured on
    cpu        CPU time of processes
    stats      means, percentiles, spread over interleaved rounds
    plots      line charts as PNG
    progress   what is going on, on stderr
    rounds     interleaved rounds
    box        a cluster in a box, and a session on it

    gate/       whether the working tree is slower than the last release

    helping/    a chain with a slow bolt, whose work others do a part of
    ipc/        messages between two processes of one node
    monitor/    what it costs to measure load
    moves/      tasks that move while they run
    overhead/   tuples through three processes
    recovery/   what guarantees cost, and how soon a run recovers
    scheduling/ the papers' topologies under each scheduler
    wordcount/  sentences split and counted
"""
