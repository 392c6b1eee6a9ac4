/** Marks what stays on the device. */

export function Lock() {
  return (
    <svg class="lock" viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <rect x="3.5" y="9" width="13" height="8.5" rx="2" />
      <path d="M6.5 9V6.5a3.5 3.5 0 0 1 7 0V9" />
    </svg>
  );
}
