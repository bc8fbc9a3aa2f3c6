import sys; sys.path.insert(0,'/work/main/tests')
import pytest, json
from tables import test_real_data as T
def test_print(queries, aggregates):
    out=open('/tmp/covtab.txt','w')
    for name in T.NAMES:
        exact=T.Exact.of(*queries[name], aggregates(name), family=None)
        found=exact.covered(); q=exact.covered(quantiles=True)
        row={m.name:(m.kind, round(100*found[m.name][0]/found[m.name][1],2)) for m in exact.measures() if m.name in found}
        row|={k:('quantile',round(100*h/t,2)) for k,(h,t) in q.items()}
        print(name, exact.plan.spent.plan.family, exact.plan.spent.plan.sensitivity.l0, exact.groups, json.dumps(row), file=out, flush=True)
from tables.test_real_data import *
