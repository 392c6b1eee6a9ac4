import { render } from "preact";

import { Page } from "./page";

render(<Page />, document.getElementById("page") as HTMLElement);
