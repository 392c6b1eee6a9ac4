BEGIN TRANSACTION;
CREATE TABLE ledger_answers (
        sequence INTEGER PRIMARY KEY REFERENCES ledger_requests (sequence),
        answer BLOB
    ) STRICT;
INSERT INTO "ledger_answers" VALUES(4,X'616E737765722061');
INSERT INTO "ledger_answers" VALUES(5,X'616E737765722062');
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
CREATE TABLE ledger_head (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        ledger TEXT NOT NULL,
        operator TEXT,
        epoch INTEGER NOT NULL CHECK (epoch >= 0),
        sequence INTEGER NOT NULL CHECK (sequence >= 1),
        hash TEXT NOT NULL
    ) STRICT;
INSERT INTO "ledger_head" VALUES(1,'6d1c0990a68d52f3d1e801f35a10c712',NULL,0,5,'7128b4fa972b9bbf7c7ed8a3b33bbcf0f8663fdc655ec77bde126bc3c1a7dc4c');
CREATE TABLE ledger_log (
        sequence INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        body TEXT NOT NULL,
        hash TEXT NOT NULL
    ) STRICT;
INSERT INTO "ledger_log" VALUES(1,'created','{"ledger":"6d1c0990a68d52f3d1e801f35a10c712","operator":null}','dfc97c242966ff7ed994e0f1e26d83ac84ae88e0e437cfeb3954e9c6868e1c79');
INSERT INTO "ledger_log" VALUES(2,'budget','{"at":1795426211,"cap":2000000,"delta_cap":0,"epoch_cap":null,"kind":"dataset","name":"films","number":1,"tenant":"shop","unit":"pure"}','fb3432f48a4d6b912ebdf86593d8953e5962ecaf71ee5336d210802c84f69613');
INSERT INTO "ledger_log" VALUES(3,'budget','{"at":1795426212,"cap":1000000,"delta_cap":0,"epoch_cap":null,"kind":"subject","name":"ann","number":2,"tenant":"shop","unit":"pure"}','b8f1102b89daa2c4fd32d20fa9351ca1c9b665c452d9a848d0c7adf2d4c59365');
INSERT INTO "ledger_log" VALUES(4,'release','{"answer":"ea82ed964f21cf072b0bf60b316b72764f676b692a53ed6c094bfa89f74f0913","at":1795426212,"charges":[[2,500000,0],[1,500000,0]],"epoch":0,"key":"a","operation":"lists","payload":"3ff6698e101869f36e088516c6c0ca6495c40c0abdae72f6e4d124610dace7b0","subject":"ann","tenant":"shop"}','0f33db380442447c6000140b91359f0e6576f047ccada4a623fdcd36223b058f');
INSERT INTO "ledger_log" VALUES(5,'release','{"answer":"b70282215840e8e1e14b90fc160db89549ccc30385f95a005c0b329856aeb03c","at":1795426212,"charges":[[2,250000,0],[1,250000,0]],"epoch":0,"key":"b","operation":"lists","payload":"3ff6698e101869f36e088516c6c0ca6495c40c0abdae72f6e4d124610dace7b0","subject":"ann","tenant":"shop"}','7128b4fa972b9bbf7c7ed8a3b33bbcf0f8663fdc655ec77bde126bc3c1a7dc4c');
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
CREATE TABLE ledger_schema (version INTEGER PRIMARY KEY);
INSERT INTO "ledger_schema" VALUES(1);
INSERT INTO "ledger_schema" VALUES(2);
CREATE TRIGGER ledger_requests_update BEFORE UPDATE ON ledger_requests BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END;
CREATE TRIGGER ledger_answers_update BEFORE UPDATE ON ledger_answers BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END;
CREATE TRIGGER ledger_log_update BEFORE UPDATE ON ledger_log BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END;
CREATE TRIGGER ledger_requests_delete BEFORE DELETE ON ledger_requests BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END;
CREATE TRIGGER ledger_answers_delete BEFORE DELETE ON ledger_answers BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END;
CREATE TRIGGER ledger_log_delete BEFORE DELETE ON ledger_log BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END;
CREATE TRIGGER ledger_budgets_delete BEFORE DELETE ON ledger_budgets BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END;
CREATE TRIGGER ledger_head_delete BEFORE DELETE ON ledger_head BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END;
CREATE TRIGGER ledger_refund BEFORE UPDATE ON ledger_budgets WHEN NEW.spent < OLD.spent OR NEW.delta_spent < OLD.delta_spent OR NEW.epoch < OLD.epoch BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END;
COMMIT;
