#!/bin/sh
# A shop, from an empty folder: a first list in three commands, a served weekly model in six.
set -eu

# The file that a shop has. Here it is generated: people, products, stars, and a catalogue.
tacit data generate shop.csv --seed 1 --users 2000 --items 300 --ratings 60000 --labels 6

# A first list, made on the person's device from the released model.
tacit fit private shop.csv --catalogue shop-items.csv --items shop-items.csv --scale 1:5:1 --epsilon 1 -o first.tacit
printf 'item,rating\n12,5\n40,2\n7,4\n' > own.csv
tacit recommend first.tacit --history own.csv --at-device -n 10
# The first list is made.

# The folder of a service, whose model is fitted every week under one lifetime.
tacit init shop shop.csv --catalogue shop-items.csv --items shop-items.csv --scale 1:5:1 --lifetime 3 --every week
tacit serve shop --port "${PORT:-8000}" --json > served.json &
trap 'kill $!' EXIT
until [ -s served.json ]; do kill -0 $!; sleep 0.2; done

# A week later: the next fit. The service takes it up by itself.
tacit refit shop shop.csv
