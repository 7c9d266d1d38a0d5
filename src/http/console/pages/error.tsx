/** The page of an error. */
import { Page } from "../components/page.tsx";
import type { Html, OpenView, View } from "../route.ts";

const TITLES: Readonly<Record<number, string>> = {
  403: "Not allowed",
  404: "Not found",
  409: "Not possible now",
  412: "Changed meanwhile",
  422: "Not accepted",
  429: "Too many requests",
  500: "Something went wrong",
  503: "Not available now",
};

interface ErrorProps {
  view: View | OpenView;
  status: number;
  detail: string;
}

export function ErrorPage({ view, status, detail }: ErrorProps): Html {
  const title = TITLES[status] ?? `Status ${status}`;
  return (
    <Page view={view} title={title}>
      <h1>{title}</h1>
      <p>{detail.endsWith(".") ? detail : `${detail}.`}</p>
      {status === 500 ? <p>The log of the service says more.</p> : null}
      <p>
        <a href="">Go to the overview</a>
      </p>
    </Page>
  );
}
