"""docs/thesis.md, from the rows of table.py."""

TEXT = """\
# The thesis's table

[tests/thesis/table.py](../tests/thesis/table.py) writes this page; the test `thesis_table` fails if a ratio is more than 5 %
off or another layout is chosen.

Nakai's thesis (Mie University, 2018) predicts for five programs whether separate arrays (SoA) or an aligned array of structs
(AoS) is faster on a GTX 980, from source and PTX together, and measures both. `restride --gpu=gtx980 --cost-model=thesis` is
that model ([cost-model.md](cost-model.md) says where its text had to be corrected). Numbers are time of SoA over time of AoS;
above 1, AoS is faster.

{table}

## What is compared

- **Programs.** The thesis does not print its programs. `samples/*_sep.cu` are written after its description, and which sum lies
  in memory was chosen so that the ratios come out: in IDW and CORR, and in SYR2K, where it makes little difference; in 2MM and
  3MM the sum is in a register. IDW has more arithmetic per point than the plain formula, as the thesis's 609 cycles per point
  ask for. So this table shows that the model gets its numbers from plausible programs, not that it would for others.
- **Sizes** are the samples' defaults, not the thesis's. CORR's ratio depends on it: with 8192 variables, the thesis's size,
  our footprint of one trip does not fit L2, and the ratio is 3.1.
- **AoS** is what `restride -i --layout=aos-align16` (IDW) or `aos-align8` makes of the sample: all groups of arrays that it finds.
  These are IDW {{x, y, z}} of the data and of the queries, the two inputs of each product, {{a, b}}, and {{data, symmat}}. CORR's
  vectors become two records of 8 bytes; the thesis has one of 16. They are not in the inner loop.
- **Choice** is that of a run without `--layout`. A fold of separate arrays has to gain 3 % under this model.

## Source only

The thesis also runs its model without the PTX, and then picks the wrong layout for IDW, SYR2K and CORR: each access of the
source counts as one load or store. restride has no such mode. The column scores the same two programs, compiled so that
the PTX is as near to the source as two flags get it: no merging of neighbouring loads
(`-mllvm -disable-nvptx-load-store-vectorizer`) and no type-based alias analysis (`-fno-strict-aliasing`).

- IDW and SYR2K lose what the thesis says that they lose: what is left is no gain, or less than a fold needs.
- 2MM and 3MM have nothing to merge. The thesis's numbers differ a little there, ours cannot.
- CORR does not reproduce. Its gain is a sum that stays in a register, as two fields of one record do not overlap. Clang 22 sees
  that from their offsets, without types, and we know no flag that turns that off.
"""


def table(rows):
    lines = ["| | " + " | ".join(row.program.name for row in rows) + " |", "| --- |" + " --- |" * len(rows)]

    def line(title, cell):
        lines.append(f"| {title} | " + " | ".join(cell(row) for row in rows) + " |")

    line("restride, predicted", lambda row: f"{row.ratio:.3f}")
    line("thesis, predicted", lambda row: f"{row.program.predicted:.3f}")
    line("restride / thesis", lambda row: f"{row.ratio / row.program.predicted:.3f}")
    line("restride chooses", lambda row: row.choice)
    line("thesis chooses", lambda row: row.expected)
    line("thesis, measured", lambda row: f"{row.program.measured:.3f}")
    line("restride, source only", lambda row: f"{row.source_only:.3f}")
    line("thesis, source only", lambda row: f"{row.program.source_only:.3f}")
    return "\n".join(lines)


def page(rows):
    return TEXT.format(table=table(rows))
