"""`tacit refit`: the next fit of a folder, charged and checked; the service takes it up."""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
import shlex
import shutil
import subprocess
import time
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest

from tacit import container
from tacit.atomic_writes import write_whole
from tacit.cli.app import main
from tacit.cli.refit import write_units
from tacit.data.synthetic import generate
from tacit.designs.private import folder_fits
from tacit.designs.private.folder_fits import (
    RefitSettings,
    choose_newest,
    describe_why_worse,
    fit_next,
)
from tacit.designs.private.model import Private
from tacit.designs.private.refits import Account
from tacit.errors import ConfigError
from tacit.ledger import open_ledger
from tacit.recommenders import load_model
from tacit.service.deployment import Deployment
from tacit.service.kinds import installed_kinds
from tacit.service.model_watch import ModelWatch
from tests.support.service_process import start_process


def answer(capsys, *words, code=0):
    """The object that a command prints with --json, on standard error where it fails."""
    capsys.readouterr()
    assert main([*map(str, words), "--json"]) == code
    shown = capsys.readouterr()
    return json.loads(shown.err if code else shown.out)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Ratings of a shop, and its catalogue with genres."""
    folder = tmp_path_factory.mktemp("data")
    words = "--seed 1 --users 300 --items 40 --ratings 9000 --labels 4"
    assert main(["data", "generate", str(folder / "shop.csv"), *words.split()]) == 0
    return folder


@pytest.fixture(scope="module")
def weekly(data, tmp_path_factory):
    """A folder that `tacit init --lifetime 3 --every week` wrote. Not to be changed."""
    folder = tmp_path_factory.mktemp("init") / "shop"
    catalogue = ("--catalogue", str(data / "shop-items.csv"), "--scale", "1:5:1")
    words = ("init", str(folder), str(data / "shop.csv"), *catalogue, "--lifetime", "3")
    assert main([*words, "--every", "week"]) == 0
    return folder


@pytest.fixture
def folder(weekly, tmp_path):
    """A copy of it."""
    return shutil.copytree(weekly, tmp_path / "shop")


def test_init_prints_the_three_commands_that_follow(data, tmp_path, capsys):
    """Serve, refit, guarantee; and it writes a timer and a cron line with the refit's command."""
    folder = tmp_path / "our-shop"
    words = ["init", str(folder), str(data / "shop.csv"), "--lifetime", "3", "--every", "day"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    refit = f"tacit refit {folder} {data / 'shop.csv'}"
    for line in (
        f"tacit serve {folder}",
        refit,
        f"tacit guarantee {folder / 'lists.tacit'} --for-officer",
    ):
        assert f"  {line}\n" in shown
    units = folder / "systemd"
    assert refit in (units / "crontab").read_text()
    assert refit in (units / "our-shop-refit.service").read_text()
    assert "OnCalendar=daily" in (units / "our-shop-refit.timer").read_text()
    assert "fits = 365" in (folder / "refit.toml").read_text()


def test_units_name_folders_as_systemd_reads_them(tmp_path, monkeypatch):
    """%, $, quotes and blanks of a path stay what they are."""
    monkeypatch.setattr("shutil.which", lambda _: "/opt/tacit")
    place = Path('/srv/100%/my "$shop" \\ too')
    write_units(tmp_path, "shop", "day", Path("/srv/r.csv"), service_folder=place)
    units = tmp_path / "systemd"
    quoted = '"/srv/100%%/my \\"$$shop\\" \\\\ too"'
    assert f"ExecStart=/opt/tacit serve {quoted}\n" in (units / "shop.service").read_text()
    refit = (units / "shop-refit.service").read_text()
    assert f"ExecStart=/opt/tacit refit {quoted} /srv/r.csv\n" in refit


def read_as_systemd(line):
    """The words of a command line, without what systemd doubles: %, and $ after the program."""
    # Within double quotes, shlex reads \\ and \" as systemd does: the second character stays.
    program, *words = shlex.split(line)
    return [program.replace("%%", "%"), *(w.replace("%%", "%").replace("$$", "$") for w in words)]


def read_as_cron(line):
    """What Vixie's cron and cronie pass to the shell: up to a bare %; for \\% %, for \\\\ \\."""
    command = line.split(" ", 5)[5]
    passed = re.match(r"(?s)(?:\\.|[^%\\])*", command).group()
    return re.sub(r"(?s)\\([%\\])|\\(.)", lambda m: m[1] or m.group(), passed)


def read_as_it_is(line):
    """The command, from a cron that leaves % and backslashes to the shell, as Busybox's does."""
    return line.split(" ", 5)[5]


NAMES = (
    "a b",
    "it's",
    'a "b"',
    "100%",
    "%h",
    "$HOME",
    "${HOME}",
    "\\",
    "a\\%b",
    "a\\\\b\\n",
    "é; #x",
    "\t",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_unit_has_one_word_for_each_path(name, tmp_path, monkeypatch):
    """The service's folder and the ratings; also if the program's own path needs quotes."""
    monkeypatch.setattr("shutil.which", lambda _: f"/opt/{name}/tacit")
    write_units(tmp_path, "shop", "day", Path(f"/r/{name}"), service_folder=Path(f"/s/{name}"))
    unit = (tmp_path / "systemd" / "shop-refit.service").read_text()
    (line,) = re.findall("ExecStart=(.*)\n", unit)
    assert read_as_systemd(line) == [f"/opt/{name}/tacit", "refit", f"/s/{name}", f"/r/{name}"]


@pytest.mark.parametrize("read", [read_as_cron, read_as_it_is])
@pytest.mark.parametrize("name", NAMES)
def test_a_cron_line_passes_paths_as_they_are(name, read, tmp_path, monkeypatch):
    """Through cron and a shell."""
    program = tmp_path / f"{name} program"
    program.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    program.chmod(0o755)
    monkeypatch.setattr("shutil.which", lambda _: str(program))
    write_units(tmp_path, "shop", "day", Path(f"/r/{name}"), service_folder=Path(f"/s/{name}"))
    command = read((tmp_path / "systemd" / "crontab").read_text())
    printed = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=True)
    assert printed.stdout.splitlines() == ["refit", f"/s/{name}", f"/r/{name}"]


def test_a_program_found_by_a_relative_path_is_named_by_its_whole_path(tmp_path, monkeypatch):
    """systemd and cron run it in another folder."""
    monkeypatch.setattr("shutil.which", lambda _: "bin/tacit")
    monkeypatch.chdir(tmp_path)
    write_units(tmp_path, "shop", "day", Path("/r.csv"), service_folder=Path("/shop"))
    unit = (tmp_path / "systemd" / "shop-refit.service").read_text()
    assert f"ExecStart={tmp_path / 'bin' / 'tacit'} refit " in unit


@pytest.mark.parametrize(
    ("name", "said"),
    [("a\nb", "a line break"), ("a\rb", "a line break"), ("a\udcffb", "bytes that are not UTF-8")],
)
@pytest.mark.parametrize("renamed", ["folder", "ratings"])
def test_a_path_that_no_unit_can_name_is_refused_before_the_fit(
    name, said, renamed, data, tmp_path, capsys
):
    """In a sentence; nothing is written."""
    folder = tmp_path / "shop"
    ratings = tmp_path / "shop.csv"
    if renamed == "folder":
        folder = tmp_path / name
    else:
        ratings = tmp_path / name
    shutil.copy(data / "shop.csv", ratings)
    before = set(tmp_path.iterdir())
    failed = answer(capsys, "init", folder, ratings, code=2)
    assert f"has {said}, so neither a systemd unit nor a crontab can name it" in str(failed)
    assert set(tmp_path.iterdir()) == before


def test_settings_are_read_as_they_were_written(tmp_path):
    """Every setting, also those of the rows."""
    settings = RefitSettings(
        epsilon=0.5,
        lifetime=2.0,
        fits=12,
        every="month",
        catalogue='C:\\a "b".csv',
        features=("genres", "price"),
        rows={"scale": "1:5:1", "where": ["a>0"], "events": True},
    )
    settings.write(tmp_path)
    assert RefitSettings.read(tmp_path) == settings


def test_a_refit_is_the_next_fit_of_the_plan(folder, data, capsys):
    """It is charged, replaces the served file, and says how many fits are left."""
    before = (folder / "lists.tacit").read_bytes()
    done = answer(capsys, "refit", folder, data / "shop.csv")
    assert done["replaced"]
    assert (folder / "lists.tacit").read_bytes() != before
    assert (done["budget_status"]["fits"], done["budget_status"]["further"]) == (2, 50)
    assert done["budget_status"]["lifetime"] == 3
    assert done["previous_digest"] != done["digest"]


def test_the_printed_total_is_not_below_what_was_spent(folder, data, capsys, monkeypatch):
    """It is rounded up, as all bounds are."""

    def fit_and_set_total(*given):
        fit = fit_next(*given)
        fit.model.budget_status_ = replace(fit.model.budget_status_, total=1.23412)
        return fit

    monkeypatch.setattr(folder_fits, "fit_next", fit_and_set_total)
    assert main(["refit", str(folder), str(data / "shop.csv")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "epsilon 1.235 of 3 allowed is spent in total" in shown


def test_a_worse_model_is_charged_and_not_served(folder, data, capsys, tmp_path):
    """Of a tenth of the people: the served file stays, and the next fit follows the new one."""
    lines = (data / "shop.csv").read_text().splitlines()
    few = [lines[0], *(line for line in lines[1:] if int(line.split(",")[0]) % 10 == 0)]
    (tmp_path / "few.csv").write_text("\n".join(few) + "\n")
    settings = RefitSettings.read(folder)
    single = RefitSettings(epsilon=3.0, catalogue=settings.catalogue, rows=settings.rows)
    single.write(folder)
    (folder / "newest.tacit").unlink()
    (folder / "lists.tacit").unlink()
    assert answer(capsys, "refit", folder, data / "shop.csv")["replaced"]
    before = (folder / "lists.tacit").read_bytes()
    done = answer(capsys, "refit", folder, tmp_path / "few.csv")
    assert not done["replaced"]
    assert "personal" in done["reason"] or "effective population" in done["reason"]
    assert (folder / "lists.tacit").read_bytes() == before
    assert (
        load_model(folder / "newest.tacit").releases_
        != load_model(folder / "lists.tacit").releases_
    )
    assert done["budget_status"]["fits"] == 2
    assert main(["refit", str(folder), str(tmp_path / "few.csv")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "The card of lists.tacit does not count this fit. The card of newest.tacit" in shown


def test_a_model_is_not_worse_than_itself(weekly):
    """By released values."""
    model = load_model(weekly / "lists.tacit")
    assert describe_why_worse(model, model) == ""


def test_a_lifetime_that_is_spent_refuses_and_changes_nothing(folder, data, tmp_path, capsys):
    """The served file and the chain stay as they were."""
    settings = RefitSettings(epsilon=2.9, lifetime=3.0, rows={"scale": "1:5:1"})
    ratings = generate(users=60, items=20, ratings=900, seed=1)
    own = tmp_path / "own"
    own.mkdir()
    fit_next(own, settings, "shop", ratings)
    before = (own / "lists.tacit").read_bytes(), (own / "newest.tacit").read_bytes()
    settings.write(own)
    (own / "tacit.toml").write_text('tenant = "shop"\n')
    assert main(["refit", str(own), str(data / "shop.csv")]) == 5
    assert "lifetime" in capsys.readouterr().err
    assert ((own / "lists.tacit").read_bytes(), (own / "newest.tacit").read_bytes()) == before


def test_a_folder_without_settings_is_refused(tmp_path, data, capsys):
    """With the command that writes them."""
    assert main(["refit", str(tmp_path), str(data / "shop.csv")]) == 2
    assert "tacit init" in capsys.readouterr().err


def test_a_changed_file_is_taken_up_and_a_damaged_one_is_not(folder, data, capsys):
    """The new model remembers the one before; a file that cannot be read changes nothing."""
    deployment = Deployment.read(folder, installed_kinds())
    watch = ModelWatch(deployment)
    faults = []
    assert watch.reload_changed_models(faults.append) == []
    first = deployment.served["models/lists"]
    answer(capsys, "refit", folder, data / "shop.csv")
    assert watch.reload_changed_models(faults.append) == ["models/lists"]
    second = deployment.served["models/lists"]
    assert second.previous.digest == first.digest
    assert second.previous_device_file == first.device_file
    assert second.digest != first.digest
    (folder / "lists.tacit").write_bytes(b"damaged")
    assert watch.reload_changed_models(faults.append) == []
    assert watch.reload_changed_models(faults.append) == []
    assert deployment.served["models/lists"] is second
    assert len(faults) == 1


def test_likes_of_people_who_withdrew_are_given_out_no_more(folder):
    """The device file before is not kept where it holds likes of people who agreed to that."""
    people = generate(users=600, items=60, ratings=18_000, labels=6, seed=3)
    agreed = people.user_ids[:40].tolist()
    path = folder / "lists.tacit"
    Private(8.0, mode="taste", consented=agreed).fit(people).save(path)
    deployment = Deployment.read(folder, installed_kinds())
    watch = ModelWatch(deployment)
    first = deployment.served["models/lists"]
    assert first.device_file is not None
    Private(8.0, mode="taste").fit(people).save(path)
    faults = []
    assert watch.reload_changed_models(faults.append) == ["models/lists"]
    second = deployment.served["models/lists"]
    assert second.previous.digest == first.digest
    assert second.previous_device_file is None
    assert not faults


def swap_after_read(monkeypatch, path, content):
    """Replace the file once, right after it was read for the first time."""
    read, swaps = container.read_bytes, []

    def read_and_swap(place):
        found = read(place)
        if place == path and not swaps:
            swaps.append(place)
            write_whole(path, content)
        return found

    monkeypatch.setattr(container, "read_bytes", read_and_swap)


def test_a_file_that_is_replaced_while_it_is_read_is_served_whole(
    folder, data, capsys, monkeypatch
):
    """Model and digest are of one file, and the next look takes up the newer one."""
    path = folder / "lists.tacit"
    old = path.read_bytes()
    answer(capsys, "refit", folder, data / "shop.csv")
    new = path.read_bytes()
    path.write_bytes(old)
    swap_after_read(monkeypatch, path, new)
    deployment = Deployment.read(folder, installed_kinds())
    watch = ModelWatch(deployment)
    served = deployment.served["models/lists"]
    assert len(served.model.releases_) == 1
    assert served.digest == hashlib.sha256(old).hexdigest()
    faults = []
    assert watch.reload_changed_models(faults.append) == ["models/lists"]
    served = deployment.served["models/lists"]
    assert len(served.model.releases_) == 2
    assert served.digest == hashlib.sha256(new).hexdigest()
    assert not faults


def test_a_running_service_takes_up_a_refit(folder, data, demo, capsys):
    """Health shows both digests, and the device file before is still there by its digest."""
    running = start_process(demo, folder, ())
    try:

        def fetch(path):
            with urllib.request.urlopen(running.address + path) as response:
                return response.read()

        before = json.loads(fetch("/readyz"))["models"][0]
        device = json.loads(fetch("/api/models"))["models"][0]["device"]
        old_file = fetch("/api/models/lists/device")
        done = answer(capsys, "refit", folder, data / "shop.csv")
        until = time.monotonic() + 60
        while True:
            now = json.loads(fetch("/readyz"))["models"][0]
            if now["digest"] != before["digest"] or time.monotonic() > until:
                break
            time.sleep(0.2)
        assert now == {
            "name": "lists",
            "digest": done["digest"],
            "previous_digest": before["digest"],
        }
        assert fetch(f"/api/models/lists/device?digest={device}") == old_file
        assert fetch("/api/models/lists/device") != old_file
    finally:
        running.stop()


def charged_fits(folder):
    """Number of fits that the folder's ledger was charged for."""
    with open_ledger(str(folder / "fits.db")) as ledger:
        return len(Account(ledger, "shop", "ratings").fits())


def keep_models(folder):
    """The two model files as they are now, by name."""
    return {name: (folder / name).read_bytes() for name in ("newest.tacit", "lists.tacit")}


def restore_models(folder, kept):
    """Write them again, as from a backup."""
    for name, content in kept.items():
        (folder / name).write_bytes(content)


@pytest.mark.parametrize("lost", ["removed", "an older copy"])
def test_a_lost_newest_model_forgets_no_fit(folder, data, capsys, lost):
    """The next fit follows the served model, which lists all fits; its card counts them."""
    first = keep_models(folder)["newest.tacit"]
    for _ in range(2):
        answer(capsys, "refit", folder, data / "shop.csv")
    if lost == "removed":
        (folder / "newest.tacit").unlink()
    else:
        (folder / "newest.tacit").write_bytes(first)
    done = answer(capsys, "refit", folder, data / "shop.csv")
    assert (done["budget_status"]["fits"], done["budget_status"]["repeated"]) == (4, False)
    assert len(load_model(folder / "lists.tacit").releases_) == charged_fits(folder) == 4


def test_an_older_folder_is_refused_where_the_ledger_lists_more(folder, data, capsys):
    """Both models from before two fits: a card would state less than was spent."""
    old = keep_models(folder)
    for _ in range(2):
        answer(capsys, "refit", folder, data / "shop.csv")
    restore_models(folder, old)
    refused = answer(capsys, "refit", folder, data / "shop.csv", code=5)["error"]
    assert "2 fits that no model of the folder knows" in refused["message"]
    assert keep_models(folder) == old
    assert charged_fits(folder) == 3


def test_a_fit_that_was_not_written_is_handed_out_again(folder, data, capsys):
    """Stopped between the ledger and the file: the stored file, no new noise, and it is said."""
    old = keep_models(folder)
    answer(capsys, "refit", folder, data / "shop.csv")
    made = (folder / "newest.tacit").read_bytes()
    restore_models(folder, old)
    assert main(["refit", str(folder), str(data / "shop.csv")]) == 0
    assert "An earlier run charged this fit" in capsys.readouterr().out
    assert (folder / "newest.tacit").read_bytes() == made
    assert charged_fits(folder) == 2


@pytest.mark.parametrize("served", ["damaged", "another design"])
def test_a_served_file_that_cannot_be_compared_costs_nothing(folder, data, capsys, served):
    """It is read before the fit is charged."""
    path = folder / "lists.tacit"
    if served == "damaged":
        path.write_bytes(b"damaged")
    else:
        words = ["fit", "popularity", str(data / "shop.csv"), "--out", str(path), "--force"]
        assert main(words) == 0
    code = 4 if served == "damaged" else 2
    refused = answer(capsys, "refit", folder, data / "shop.csv", code=code)["error"]
    assert "lists.tacit" in refused["message"]
    assert charged_fits(folder) == 1


def test_two_fits_at_once_are_not_made(folder, data, capsys):
    """The second one is refused while the first holds the folder's lock."""
    with (folder / "refit.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused = answer(capsys, "refit", folder, data / "shop.csv", code=2)["error"]
    assert "another fit of this folder" in refused["message"]
    assert charged_fits(folder) == 1


def test_models_of_different_chains_are_not_followed(tmp_path):
    """Neither lists all fits: whatever came next would forget some."""
    models = []
    for seed in (1, 2):
        own = tmp_path / str(seed)
        own.mkdir()
        ratings = generate(users=60, items=20, ratings=900, seed=seed)
        models.append(fit_next(own, RefitSettings(), "shop", ratings).model)
    assert choose_newest(models[0], None) is models[0]
    with pytest.raises(ConfigError, match="different chains"):
        choose_newest(*models)


@pytest.mark.parametrize(
    "line",
    [
        'epsilon = "1"',
        "fits = 1.5",
        "fits = true",
        "model = 1",
        'model = "newest.tacit"',
        'model = "fits.db"',
        'features = "genres"',
        "features = [1]",
        "[rows]\nper_user = 'a'",
        "[rows]\nscale = 5",
        "[rows]\nwritten = 4",
        "[rows]\nunknown = 1",
        "[rows]\npath = '/etc/passwd'",
    ],
)
def test_settings_of_another_type_get_a_sentence(data, tmp_path, capsys, line):
    """It names the file and the setting."""
    (tmp_path / "refit.toml").write_text(line + "\n")
    (tmp_path / "tacit.toml").write_text('tenant = "shop"\n')
    refused = answer(capsys, "refit", tmp_path, data / "shop.csv", code=2)["error"]
    name = line.rpartition("\n")[2].partition(" ")[0]
    assert "refit.toml" in refused["message"]
    assert name in refused["message"]
