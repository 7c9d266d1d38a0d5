/** `/`: what needs attention, and what came of late. */
import { Page } from "../components/page.tsx";
import { Empty } from "../components/table.tsx";
import { type Html, route, type View } from "../route.ts";

function OverviewPage({ view }: { view: View }): Html {
  return (
    <Page view={view} title="Overview" nav="Overview">
      <h1>Overview</h1>
      <Empty title="Did it arrive, and what came of it?">
        <p>
          <a href="deliveries">Deliveries</a> lists each request at a launch URL.
        </p>
      </Empty>
    </Page>
  );
}

/** The route of the overview. */
export const overviewRoutes = [
  route({ path: "/", show: ({ view }) => OverviewPage({ view }) }),
];
