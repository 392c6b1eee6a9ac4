// How the site's search orders what it finds: pages for people before names of the code.
const FIRST = {
  install: 8,
  "own-file": 9,
  private: 8,
  "is-this-number-strong": 8,
  "guarantee-card": 6,
  "year-of-fits": 8,
  "how-to-choose": 6,
  data: 5,
  serve: 5,
  "sharp-edges": 4,
  "notebooks/a-year-on-one-budget": -6,
  changelog: -8,
};

var Scorer = {
  score: ([page, , , , score]) => score + (FIRST[page] ?? 0),
  objNameMatch: 3,
  objPartialMatch: 1,
  objPrio: { 0: 2, 1: 1, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
