/** Stars of one item: a group of radio buttons, for mouse, finger, keyboard and screen reader. */

interface StarRatingProps {
  readonly name: string;
  readonly title: string;
  readonly choices: readonly number[];
  readonly value: number | undefined;
  readonly onChange: (stars: number | undefined) => void;
}

/** A star for each choice, and a button that takes the rating back. */
export function StarRating({ name, title, choices, value, onChange }: StarRatingProps) {
  const most = choices.at(-1);
  return (
    <div class="rating">
      <div class="stars" role="radiogroup" aria-label={`Your stars for ${title}`}>
        {choices.map((choice) => (
          <label key={choice} class={value !== undefined && choice <= value ? "star full" : "star"}>
            <input
              type="radio"
              name={name}
              value={choice}
              checked={choice === value}
              onChange={() => onChange(choice)}
            />
            <StarShape />
            <span class="unseen">{`${choice} of ${most} stars`}</span>
          </label>
        ))}
      </div>
      <button
        type="button"
        class="clear"
        disabled={value === undefined}
        onClick={(event) => {
          onChange(undefined);
          // The button is disabled now, so the focus moves to a star.
          event.currentTarget.parentElement?.querySelector("input")?.focus();
        }}
      >
        <span aria-hidden="true">×</span>
        <span class="unseen">{`Take back your stars for ${title}`}</span>
      </button>
    </div>
  );
}

/** Stars that cannot be changed. */
export function StarsShown({ value, most }: { value: number; most: number }) {
  return (
    <span class="shown" role="img" aria-label={`${value} of ${most} stars`}>
      {"★".repeat(Math.round(value))}
      <span class="rest">{"★".repeat(Math.max(0, most - Math.round(value)))}</span>
    </span>
  );
}

function StarShape() {
  return (
    <svg viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d="M12 2.6l2.9 6 6.6.9-4.8 4.6 1.2 6.5L12 17.5l-5.9 3.1 1.2-6.5L2.5 9.5l6.6-.9z" />
    </svg>
  );
}
