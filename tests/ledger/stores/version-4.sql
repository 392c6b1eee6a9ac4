BEGIN TRANSACTION;
CREATE TABLE ledger_answers (
        sequence INTEGER PRIMARY KEY REFERENCES ledger_requests (sequence),
        answer BLOB
    ) STRICT;
INSERT INTO "ledger_answers" VALUES(4,X'616E737765722061');
INSERT INTO "ledger_answers" VALUES(5,X'616E737765722062');
INSERT INTO "ledger_answers" VALUES(6,X'766F746564');
CREATE TABLE ledger_budgets (
        id INTEGER PRIMARY KEY,
        tenant TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('dataset', 'subject')),
        name TEXT NOT NULL,
        unit TEXT NOT NULL CHECK (unit IN ('pure', 'zcdp', 'approximate')),
        cap INTEGER NOT NULL CHECK (cap BETWEEN 1 AND 1000000000000000000),
        spent INTEGER NOT NULL CHECK (spent BETWEEN 0 AND cap),
        delta_cap INTEGER NOT NULL CHECK (delta_cap BETWEEN 0 AND 1000000000000000000),
        delta_spent INTEGER NOT NULL CHECK (delta_spent BETWEEN 0 AND delta_cap),
        epoch_cap INTEGER CHECK (epoch_cap BETWEEN 1 AND 1000000000000000000),
        epoch INTEGER NOT NULL CHECK (epoch >= 0),
        epoch_spent INTEGER NOT NULL
            CHECK (epoch_spent BETWEEN 0 AND spent
                   AND (epoch_cap IS NULL OR epoch_spent <= epoch_cap)),
        UNIQUE (tenant, kind, name)
    ) STRICT;
INSERT INTO "ledger_budgets" VALUES(1,'shop','dataset','films','pure',2000000,750000,0,0,NULL,0,750000);
INSERT INTO "ledger_budgets" VALUES(2,'shop','subject','ann','pure',1000000,750000,0,0,NULL,0,750000);
CREATE TABLE ledger_checkpoints (
        sequence INTEGER PRIMARY KEY,
        state TEXT NOT NULL
    ) STRICT;
CREATE TABLE ledger_head (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        ledger TEXT NOT NULL,
        operator TEXT,
        epoch INTEGER NOT NULL CHECK (epoch >= 0),
        sequence INTEGER NOT NULL CHECK (sequence >= 1),
        hash TEXT NOT NULL
    ) STRICT;
INSERT INTO "ledger_head" VALUES(1,'a3b768f8ae182266f204f1a4d5e3ac29',NULL,0,6,'8b5b9cc79d9f531019983163eccca4eab99a60f3f87349533403e86a1b823557');
CREATE TABLE ledger_log (
        sequence INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        body TEXT NOT NULL,
        hash TEXT NOT NULL
    ) STRICT;
INSERT INTO "ledger_log" VALUES(1,'created','{"ledger":"a3b768f8ae182266f204f1a4d5e3ac29","operator":null}','d453a945e13b904288f188a5f0a3c4cdd80a18919ad6651044b255f60416d6b3');
INSERT INTO "ledger_log" VALUES(2,'budget','{"at":1795426214,"cap":2000000,"delta_cap":0,"epoch_cap":null,"kind":"dataset","name":"films","number":1,"tenant":"shop","unit":"pure"}','c2cec48cf362504428e6aa81dadbd3d22fd86457275bf6f3d8ff875ba09c15b5');
INSERT INTO "ledger_log" VALUES(3,'budget','{"at":1795426216,"cap":1000000,"delta_cap":0,"epoch_cap":null,"kind":"subject","name":"ann","number":2,"tenant":"shop","unit":"pure"}','65833d2dcbcec0235109e8c4663d27519248a8be835e1d8b5fafec7ed5613732');
INSERT INTO "ledger_log" VALUES(4,'release','{"answer":"ea82ed964f21cf072b0bf60b316b72764f676b692a53ed6c094bfa89f74f0913","at":1795426216,"charges":[[2,500000,0],[1,500000,0]],"epoch":0,"key":"a","operation":"lists","payload":"3ff6698e101869f36e088516c6c0ca6495c40c0abdae72f6e4d124610dace7b0","subject":"ann","tenant":"shop"}','eb648c68b98791e9f72592627a505f9fb54c1659ee875c98c7174b29917626fd');
INSERT INTO "ledger_log" VALUES(5,'release','{"answer":"b70282215840e8e1e14b90fc160db89549ccc30385f95a005c0b329856aeb03c","at":1795426216,"charges":[[2,250000,0],[1,250000,0]],"epoch":0,"key":"b","operation":"lists","payload":"3ff6698e101869f36e088516c6c0ca6495c40c0abdae72f6e4d124610dace7b0","subject":"ann","tenant":"shop"}','d8e2844a02e63af5c339abde428bfe15ec1598684c0136e45f048f9eedf51956');
INSERT INTO "ledger_log" VALUES(6,'release','{"answer":"5a3b08afa2e863a0da07e8bee95e83530b049e65b01361b7e9e8ebfabc34436e","at":1795426216,"charges":[],"epoch":0,"key":"c","operation":"vote","payload":"617743d1eb118d7d0125e4343eeb11fb18e3f37d12411d3c61add2025a0a6e81","state":["rounds/films","6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"],"subject":"ann","tenant":"shop"}','8b5b9cc79d9f531019983163eccca4eab99a60f3f87349533403e86a1b823557');
CREATE TABLE ledger_requests (
        sequence INTEGER PRIMARY KEY,
        tenant TEXT NOT NULL,
        subject TEXT NOT NULL,
        operation TEXT NOT NULL,
        request_key TEXT NOT NULL,
        payload TEXT NOT NULL,
        UNIQUE (tenant, subject, operation, request_key)
    ) STRICT;
INSERT INTO "ledger_requests" VALUES(4,'shop','ann','lists','a','3ff6698e101869f36e088516c6c0ca6495c40c0abdae72f6e4d124610dace7b0');
INSERT INTO "ledger_requests" VALUES(5,'shop','ann','lists','b','3ff6698e101869f36e088516c6c0ca6495c40c0abdae72f6e4d124610dace7b0');
INSERT INTO "ledger_requests" VALUES(6,'shop','ann','vote','c','617743d1eb118d7d0125e4343eeb11fb18e3f37d12411d3c61add2025a0a6e81');
CREATE TABLE ledger_schema (version INTEGER PRIMARY KEY);
INSERT INTO "ledger_schema" VALUES(1);
INSERT INTO "ledger_schema" VALUES(2);
INSERT INTO "ledger_schema" VALUES(3);
INSERT INTO "ledger_schema" VALUES(4);
CREATE TABLE ledger_states (
        name TEXT PRIMARY KEY,
        sequence INTEGER NOT NULL REFERENCES ledger_requests (sequence),
        state BLOB NOT NULL
    ) STRICT;
INSERT INTO "ledger_states" VALUES('rounds/films',6,X'31');
CREATE TRIGGER ledger_requests_update BEFORE UPDATE ON ledger_requests BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END;
CREATE TRIGGER ledger_answers_update BEFORE UPDATE ON ledger_answers BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END;
CREATE TRIGGER ledger_log_update BEFORE UPDATE ON ledger_log BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END;
CREATE TRIGGER ledger_requests_delete BEFORE DELETE ON ledger_requests BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END;
CREATE TRIGGER ledger_answers_delete BEFORE DELETE ON ledger_answers BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END;
CREATE TRIGGER ledger_log_delete BEFORE DELETE ON ledger_log BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END;
CREATE TRIGGER ledger_budgets_delete BEFORE DELETE ON ledger_budgets BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END;
CREATE TRIGGER ledger_head_delete BEFORE DELETE ON ledger_head BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END;
CREATE TRIGGER ledger_refund BEFORE UPDATE ON ledger_budgets WHEN NEW.spent < OLD.spent OR NEW.delta_spent < OLD.delta_spent OR NEW.epoch < OLD.epoch BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END;
CREATE TRIGGER ledger_states_delete BEFORE DELETE ON ledger_states BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END;
CREATE TRIGGER ledger_states_back BEFORE UPDATE ON ledger_states WHEN NEW.sequence <= OLD.sequence BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END;
COMMIT;
