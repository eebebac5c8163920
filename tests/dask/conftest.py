"""One cluster for the whole test run: two workers of one thread each, in this process."""

import gc
import warnings

import dask
import pytest
from dask.distributed import Client, LocalCluster


@pytest.fixture(scope="session")
def cluster():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as made:
        yield made


@pytest.fixture
def client(cluster):
    """The cluster, active for one test."""
    with Client(cluster) as active:
        yield active
    collect_others_sockets()


def collect_others_sockets():
    """Boosters and clusters leave sockets to the collector: let it warn here, not in a test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def mortal():
    """A client of two workers that are processes, to be killed; not all are replaced."""
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as made,
        Client(made) as active,
    ):
        yield active
    collect_others_sockets()


@pytest.fixture(params=["threads", "cluster"])
def anywhere(request):
    """Without a cluster, and with one."""
    if request.param == "threads":
        with dask.config.set(scheduler="threads"):
            yield request.param
    else:
        request.getfixturevalue("client")
        yield request.param
